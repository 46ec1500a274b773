//! cudarc loads libcuda when it is first used; the dynamic linker finds the simulated one.

#[test]
fn numbers_are_squared_twice() {
    assert_eq!(
        squares::square(&[1, 2, 3, 10], 2).unwrap(),
        [1, 16, 81, 10_000]
    );
}
