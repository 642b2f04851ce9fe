// Functions of one array, element by element: z = f(x).
//
//   $m2 z, $m3 x   byte addresses, multiples of 8; z may be x
//   $m4 atoms      of each array: four halves or two singles
//
// relu, exp, tanh, sigmoid, silu, sqrt of halves (`_f16`) and singles (`_f32`).
//
// A kernel's work on one atom is a macro of bundles that take X_ATOM to Z_ATOM; `load` is what the
// main lane does in the bundle that reads X_ATOM last: load the next atom, or nothing.

#include "vector.inc"

.macro UNARY name work
  VECTOR_SUPERVISOR \name, m2, m3, m4
  VECTOR_WORKER \name, X
  add     $X, $X, $WORKER
  NEXT_X
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  \work NEXT_X
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \work nop
  KEEP_Z
  VECTOR_END \name
.endm

.macro RELU_F16 load:vararg
  { \load ; f16v4max $Z_ATOM, $X_ATOM, $azeros }
.endm

.macro RELU_F32 load:vararg
  { \load ; f32v2max $Z_ATOM, $X_ATOM, $azeros }
.endm

// What the chip has an instruction for: two halves at a time, or one single.
.macro EXP_F16 load:vararg
  { nop ; f16v2exp $a4, $a0 }
  { \load ; f16v2exp $a5, $a1 }
.endm

.macro TANH_F16 load:vararg
  { nop ; f16v2tanh $a4, $a0 }
  { \load ; f16v2tanh $a5, $a1 }
.endm

.macro SIGMOID_F16 load:vararg
  { nop ; f16v2sigm $a4, $a0 }
  { \load ; f16v2sigm $a5, $a1 }
.endm

.macro EXP_F32 load:vararg
  { nop ; f32exp $a4, $a0 }
  { \load ; f32exp $a5, $a1 }
.endm

.macro TANH_F32 load:vararg
  { nop ; f32tanh $a4, $a0 }
  { \load ; f32tanh $a5, $a1 }
.endm

.macro SIGMOID_F32 load:vararg
  { nop ; f32sigm $a4, $a0 }
  { \load ; f32sigm $a5, $a1 }
.endm

.macro SQRT_F32 load:vararg
  { nop ; f32sqrt $a4, $a0 }
  { \load ; f32sqrt $a5, $a1 }
.endm

.macro SILU_F16 load:vararg
  { nop ; f16v2sigm $a4, $a0 }
  { nop ; f16v2sigm $a5, $a1 }
  { \load ; f16v4mul $Z_ATOM, $Z_ATOM, $X_ATOM }
.endm

.macro SILU_F32 load:vararg
  { nop ; f32sigm $a4, $a0 }
  { nop ; f32sigm $a5, $a1 }
  { \load ; f32v2mul $Z_ATOM, $Z_ATOM, $X_ATOM }
.endm

// There is a root of singles only.
.macro SQRT_F16 load:vararg
  { nop ; f16v2tof32 $a2:3, $a0 }
  { \load ; f16v2tof32 $a6:7, $a1 }
  { nop ; f32sqrt $a2, $a2 }
  { nop ; f32sqrt $a3, $a3 }
  { nop ; f32sqrt $a6, $a6 }
  { nop ; f32sqrt $a7, $a7 }
  { nop ; f32v2tof16 $a4, $a2:3 }
  { nop ; f32v2tof16 $a5, $a6:7 }
.endm

  UNARY relu_f16, RELU_F16
  UNARY exp_f16, EXP_F16
  UNARY tanh_f16, TANH_F16
  UNARY sigmoid_f16, SIGMOID_F16
  UNARY silu_f16, SILU_F16
  UNARY sqrt_f16, SQRT_F16
  UNARY relu_f32, RELU_F32
  UNARY exp_f32, EXP_F32
  UNARY tanh_f32, TANH_F32
  UNARY sigmoid_f32, SIGMOID_F32
  UNARY silu_f32, SILU_F32
  UNARY sqrt_f32, SQRT_F32
