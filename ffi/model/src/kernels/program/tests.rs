use std::collections::HashMap;

use super::operation::{Binary, Order, Test, Type};
use super::*;

/// Numbers of four bytes, by address.
#[derive(Default)]
struct Words(HashMap<u64, u32>);

impl Memory for Words {
    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        assert_eq!(bytes, 4);
        u64::from(self.0.get(&address).copied().unwrap_or(0))
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64 {
        assert_eq!(bytes, 4);
        self.0.insert(address, value as u32);
        0
    }

    fn set_condition(&mut self, handle: u64, value: u32) {
        self.0.insert(handle, value);
    }

    fn print(&mut self, text: &[u8]) {
        assert_eq!(text, b"");
    }
}

fn run(body: &str, parameters: &[&str], arguments: &[u64], memory: &mut Words) {
    let program =
        Program::parse(body, parameters, &Unit::default()).expect("the program can be run");
    let arguments = arguments.iter().copied().collect();
    let launch = Launch {
        grid: [2, 1, 1],
        block: [4, 1, 1],
        shared_bytes: 0,
        arguments: &arguments,
    };
    assert_eq!(program.run(launch, memory, &mut 10_000), Ok(()));
}

#[test]
fn each_thread_accesses_its_own_number_and_threads_beyond_the_count_stop() {
    let body = "{
        .reg .pred %p<2>; .reg .b32 %r<7>; .reg .b64 %rd<12>;
        ld.param.b64 %rd3, [out]; ld.param.b64 %rd7, [count];
        cvta.to.global.u64 %rd5, %rd3;
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %ntid.x;
        mov.u32 %r3, %tid.x;
        mad.lo.s32 %r4, %r1, %r2, %r3;
        cvt.u64.u32 %rd9, %r4;
        setp.ge.u64 %p1, %rd9, %rd7;
        @%p1 bra $DONE;
        shl.b64 %rd10, %rd9, 2;
        add.s64 %rd11, %rd5, %rd10;
        neg.s32 %r5, %r4;
        st.global.u32 [%rd11+8], %r5;
        $DONE: ret;
    }";
    let mut memory = Words::default();
    run(body, &["out", "count"], &[0x1000, 7], &mut memory);
    let mut written: Vec<_> = memory.0.into_iter().collect();
    written.sort_unstable();
    let expected = [0, 1, 2, 3, 4, 5, 6];
    let expected = expected.map(|n: i32| (0x1008 + 4 * n as u64, (-n).cast_unsigned()));
    assert_eq!(written, expected);
}

#[test]
fn signs_widths_and_shifts_are_those_of_the_type() {
    let s32 = Type {
        bits: 32,
        signed: true,
    };
    let u32_ = Type {
        bits: 32,
        signed: false,
    };
    assert_eq!(s32.of(0xffff_ffff), u64::MAX);
    assert_eq!(u32_.of(u64::MAX), 0xffff_ffff);
    let compare = |order, of, a, b| lanes::compare(Test::Integer(order, of), &[a], &[b]);
    assert_eq!(compare(Order::Less, s32, 0xffff_ffff, 0), [1]);
    assert_eq!(compare(Order::Greater, u32_, 0xffff_ffff, 0), [1]);
    let shift = |how, of: Type, a, b| lanes::binary(how, of, &[a], &[b]).map(|value| of.of(value));
    assert_eq!(shift(Binary::ShiftRight, s32, 0x8000_0000, 31), [u64::MAX]);
    assert_eq!(shift(Binary::ShiftRight, s32, 0x8000_0000, 99), [u64::MAX]);
    assert_eq!(shift(Binary::ShiftRight, u32_, 0x8000_0000, 31), [1]);
    assert_eq!(shift(Binary::ShiftLeft, u32_, 1, 40), [0]);
}

/// The results are those of IEEE 754, which the host computes.
#[test]
fn floating_point_results_equal_those_of_the_host() {
    let body = "{
        .reg .f32 %f<8>; .reg .pred %p<2>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [at];
        ld.global.f32 %f1, [%rd1];
        mul.f32 %f2, %f1, 0f40400000;
        fma.rn.f32 %f3, %f1, %f2, 0fBF800000;
        sub.f32 %f4, %f3, %f1;
        div.rn.f32 %f5, %f4, %f2;
        neg.f32 %f6, %f5;
        st.global.f32 [%rd1+4], %f6;
        setp.gt.f32 %p1, %f6, 0f00000000;
        @%p1 ret;
        st.global.f32 [%rd1+8], %f3;
        ret;
    }";
    let x = 0.1_f32;
    let mut memory = Words::default();
    memory.0.insert(0x1000, x.to_bits());
    run(body, &["at"], &[0x1000], &mut memory);
    let fused = x.mul_add(x * 3.0, -1.0);
    let expected = -((fused - x) / (x * 3.0));
    assert_eq!(memory.0[&0x1004], expected.to_bits());
    assert_eq!(memory.0.get(&0x1008), None, "{expected} is greater than 0");
}

#[test]
fn a_body_with_an_unsupported_instruction_has_no_program() {
    for line in [
        "mov.u64 %rd1, %clock64",
        "bar.sync 0, 64",
        "bar.arrive 0, 64",
        "tex.2d.v4.f32.f32 {%f1, %f1, %f1, %f1}, [%rd1, {%f1, %f1}]",
        "sin.f32 %f1, %f2",
        "add.rz.f64 %f1, %f2, %f2",
        "add.f16 %r1, %r1, %r1",
        "setp.lt.f16 %r1, %r1, %r1",
        "cvt.rn.f16.f32 %r1, %f1",
        "call.uni unknown, ()",
        "bra $NOWHERE",
        "ld.param.u64 %rd1, [other]",
        "st.param.u64 [p], %rd1",
        "mov.u64 %rd1, somewhere",
        "add.s32 %r1, %r1",
        "ld.global.v2.u32 %r1, [%rd1]",
        ".unknown 5",
    ] {
        let body = format!("{{ .reg .b64 %rd<3>; .reg .f32 %f<4>; .reg .b32 %r1; {line}; ret; }}");
        assert_eq!(
            Program::parse(&body, &["p"], &Unit::default()),
            None,
            "{line}"
        );
    }
}

/// For any size of registers, local and shared memory, and any depth of function calls,
/// reading ends and uses little memory.
#[test]
fn a_body_that_needs_too_much_memory_has_no_program() {
    let unit = Unit::parse(".func f() { call.uni f, (); ret; }\n.shared .b8 much[300000];");
    for body in [
        "{ call.uni f, (); ret; }",
        "{ .reg .b32 %r; ld.shared.u32 %r, [much]; ret; }",
        "{ .local .b8 own[100000]; ret; }",
        "{ .local .b8 own[18446744073709551615][2]; ret; }",
    ] {
        assert_eq!(Program::parse(body, &[], &unit), None, "{body}");
    }
}

#[test]
fn an_endless_loop_is_stopped() {
    let program = Program::parse("{ $L: bra.uni $L; }", &[], &Unit::default())
        .expect("the program can be run");
    for block in [[1, 1, 1], [64, 1, 1]] {
        let launch = Launch {
            grid: [1, 1, 1],
            block,
            shared_bytes: 0,
            arguments: &Arguments::default(),
        };
        let ended = program.run(launch, &mut Words::default(), &mut 100_000);
        assert_eq!(ended, Err(TooLong));
    }
}

/// Threads of a warp that diverge before a barrier meet at it, threads that have ended are
/// not waited for, and a function is called in two places.
#[test]
fn barriers_wait_for_the_threads_that_have_not_ended() {
    let unit = Unit::parse(
        ".func (.param .b32 back) twice(.param .b32 given) {
            .reg .b32 %r<3>; .reg .pred %p;
            ld.param.b32 %r1, [given];
            setp.gt.u32 %p, %r1, 100;
            @%p bra $END;
            add.s32 %r1, %r1, %r1;
            $END: st.param.b32 [back+0], %r1;
            ret;
        }
        .shared .align 4 .b8 all[16];",
    );
    let body = "{
        .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 3;
        @%p1 exit;
        mov.u32 %r2, all;
        shl.b32 %r3, %r1, 2;
        add.s32 %r2, %r2, %r3;
        setp.eq.s32 %p2, %r1, 0;
        @%p2 bra $FIRST;
        st.shared.u32 [%r2], %r1;
        bar.sync 0;
        bra $THEN;
        $FIRST: mov.u32 %r4, 60;
        st.shared.u32 [%r2], %r4;
        bar.sync 0;
        $THEN:
        ld.shared.u32 %r5, [all];
        ld.shared.u32 %r6, [all+8];
        add.s32 %r5, %r5, %r6;
        { .param .b32 param0; st.param.b32 [param0+0], %r5; .param .b32 retval0;
          call.uni (retval0), twice, (param0); ld.param.b32 %r7, [retval0+0]; }
        { .param .b32 param0; st.param.b32 [param0+0], %r7; .param .b32 retval0;
          call.uni (retval0), twice, (param0); ld.param.b32 %r8, [retval0+0]; }
        cvt.u64.u32 %rd2, %r3;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r8;
        ret;
    }";
    let program = Program::parse(body, &["out"], &unit).expect("the program can be run");
    let arguments = [0x1000].into_iter().collect();
    let launch = Launch {
        grid: [1, 1, 1],
        block: [4, 1, 1],
        shared_bytes: 0,
        arguments: &arguments,
    };
    let mut memory = Words::default();
    assert_eq!(program.run(launch, &mut memory, &mut 10_000), Ok(()));
    let mut written: Vec<_> = memory.0.into_iter().collect();
    written.sort_unstable();
    assert_eq!(written, [(0x1000, 124), (0x1004, 124), (0x1008, 124)]);
}
