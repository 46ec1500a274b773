#!/bin/bash
# Builds the test with nvcc from its wheel, and runs it without a GPU.
set -eu
model=${CUDART_MODEL:-$(python3 -c 'import sysconfig; print(sysconfig.get_path("data"))')/lib/libcudart_simulated.so}
mkdir -p simulated
ln -sf "$model" simulated/libcudart.so.13
ln -sf "$model" simulated/libcuda.so.1

cuda=$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])')/cu13
mkdir -p linked
ln -sf "$cuda/lib/libcudart.so.13" linked/libcudart.so # The wheel lacks the name without a version.
"$cuda/bin/nvcc" -cudart shared -L linked -o graph_test graph_test.cu
LD_LIBRARY_PATH=$PWD/simulated ./graph_test
