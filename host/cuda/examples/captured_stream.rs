//! Work that is captured in a stream and launched as a graph: numbers go through memory
//! that the graph allocates and frees.
//!
//! Runs on the simulated runtime, or on a GPU with the libcudart that the first argument
//! names: `cargo run --example captured_stream -- /usr/local/cuda/lib64/libcudart.so`

use std::error::Error;

use cuda_graphs::{Buffer, Device, NegatedSquares, RouteChoice, Runtime, Search, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = match std::env::args_os().nth(1) {
        Some(path) => Runtime::load(&Search::explicit(path))?,
        None => Runtime::built_in_model(),
    };
    let device = Device::new(&runtime, 0);
    device.make_current()?;
    let squares = NegatedSquares::load(&runtime, RouteChoice::Auto)?;
    let stream = Stream::new(&runtime)?;
    let input = Buffer::new(&runtime, 4 * 4)?.region();
    let output = Buffer::new(&runtime, 4 * 4)?.region();

    let mut capture = stream.capture(device.ordinal())?;
    let scratch = capture.allocate(1 << 20)?;
    capture.negated_squares(&squares, (&input, &scratch), 4)?;
    capture.negated_squares(&squares, (&scratch, &output), 4)?;
    capture.free(scratch.address())?;
    let exec = capture.end()?.instantiate()?;

    for numbers in [[1, 2, 3, 4], [5, 6, 7, 8]] {
        stream.write(&input, &numbers)?;
        let launched = exec.launch(&stream)?;
        assert!(
            launched.live.is_empty(),
            "the graph frees what it allocates"
        );
        let found: Vec<i32> = stream.read(&output, 4)?;
        println!("{numbers:?} became {found:?}");
    }
    device.graph_memory().trim()?;
    Ok(())
}
