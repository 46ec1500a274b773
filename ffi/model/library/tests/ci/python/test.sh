#!/bin/bash
# Runs the tests without a GPU.
set -eu
model=${CUDART_MODEL:-$(python3 -c 'import sysconfig; print(sysconfig.get_path("data"))')/lib/libcudart_simulated.so}
mkdir -p simulated
ln -sf "$model" simulated/libcuda.so.1

LD_LIBRARY_PATH=$PWD/simulated python3 -m unittest
