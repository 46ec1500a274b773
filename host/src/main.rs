//! The program. The command line is in [`graph_memory_footprint::cli`].

fn main() -> std::process::ExitCode {
    graph_memory_footprint::cli::main()
}
