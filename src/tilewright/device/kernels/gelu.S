// GeLU, exact and by tanh, element by element: z = x · σ(x · p(x²)), p a polynomial.
//
//   $m2 z, $m3 x   byte addresses, multiples of 8; z may be x
//   $m4 atoms      of each array: four halves or two singles
//
// gelu_tanh_f16, gelu_tanh_f32: 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), which is x · σ(2u) with u
// the argument of tanh: p has two terms.
// gelu_f16, gelu_f32: x · Φ(x), Φ the normal distribution. Its logit over x is a smooth even function,
// and p the polynomial that makes the largest error of z least: 3.0e-6 with five terms (halves),
// 6.6e-8 with seven (singles). Beyond the bounds of x, σ no longer matters to the result.
//
// Polynomials are evaluated in singles; σ of halves in halves.

#include "vector.inc"

#define TERMS m6

.macro TERM number register
  ld32    $\register, $TERMS, $mzero, \number
.endm

// $a6:7 = x · p(x²) for x in $a2:3. Terms stand from word `first` of the constants on, the highest
// power first; `term` is a register for them. $a4:5 holds x².
.macro POLYNOMIAL first terms term
  { TERM \first, \term ; f32v2mul $a4:5, $a2:3, $a2:3 }
  { TERM \first + 1, \term ; f32v2mul $a6:7, $\term:B, $a4:5 }
  { nop ; f32v2add $a6:7, $\term:B, $a6:7 }
  .set .Lterm, \first + 2
  .rept \terms - 2
  { TERM .Lterm, \term ; f32v2mul $a6:7, $a6:7, $a4:5 }
  { nop ; f32v2add $a6:7, $\term:B, $a6:7 }
  .set .Lterm, .Lterm + 1
  .endr
  { nop ; f32v2mul $a6:7, $a6:7, $a2:3 }
.endm

.macro GELU name work terms
  VECTOR_SUPERVISOR \name, m2, m3, m4
  VECTOR_WORKER \name, X
  add     $X, $X, $WORKER
  setzi   $TERMS, \name\()_constants
  READ_BOUNDS_\work
  ld64    $a0:1, $X, $mzero, 0
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  \work \terms, ld64 $a0:1, $X, $mzero, 0
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \work \terms, nop
  KEEP_Z
  VECTOR_END \name

  .section .rodata.\name, "a"
  .align 8
  .type \name\()_constants, @object
\name\()_constants:
.endm

// Four halves in $a0:1, the bounds of x in $a6.
.macro READ_BOUNDS_HALVES
  TERM 0, a6
.endm

.macro HALVES terms load:vararg
  { nop ; f16v4clamp $a0:1, $a0:1, $a6 }
  { nop ; f16v2tof32 $a2:3, $a0 }
  POLYNOMIAL 1, \terms, a0
  { nop ; f32v2tof16 $a0, $a6:7 }
  { nop ; f16v2tof32 $a2:3, $a1 }
  POLYNOMIAL 1, \terms, a1
  { nop ; f32v2tof16 $a1, $a6:7 }
  { TERM 0, a6 ; f16v2sigm $a0, $a0 }
  { ld64step $a2:3, $mzero, $X+=, CTXT_WORKERS ; f16v2sigm $a1, $a1 }
  { \load ; f16v4mul $Z_ATOM, $a0:1, $a2:3 }
.endm

// Two singles in $a0:1, the bounds of x in $a2:3.
.macro READ_BOUNDS_SINGLES
  ld64    $a2:3, $TERMS, $mzero, 0
.endm

.macro SINGLES terms load:vararg
  { nop ; f32v2clamp $a2:3, $a0:1, $a2:3 }
  POLYNOMIAL 2, \terms, a0
  { ld64 $a2:3, $TERMS, $mzero, 0 ; f32sigm $a6, $a6 }
  { ld64step $a0:1, $mzero, $X+=, CTXT_WORKERS ; f32sigm $a7, $a7 }
  { \load ; f32v2mul $Z_ATOM, $a6:7, $a0:1 }
.endm

// After each: the bounds of x, then terms from the highest power down.

  GELU gelu_f16, HALVES, 5
  .half -6.0h, 6.0h
  .float 2.2381672e-06, -6.1162061e-05, -2.49723036e-04, 7.29375816e-02, 1.59565627
  .size gelu_f16_constants, . - gelu_f16_constants

  GELU gelu_tanh_f16, HALVES, 2
  .half -6.0h, 6.0h
  .float 0.0713548163, 1.5957691216
  .size gelu_tanh_f16_constants, . - gelu_tanh_f16_constants

  GELU gelu_f32, SINGLES, 7
  .float -8.0, 8.0
  .float 3.6278592e-09, -2.6756661e-07, 7.9481449e-06, -1.10546798e-04
  .float -6.6053320e-05, 7.2668298e-02, 1.5957685368
  .size gelu_f32_constants, . - gelu_f32_constants

  GELU gelu_tanh_f32, SINGLES, 2
  .float -9.0, 9.0
  .float 0.0713548163, 1.5957691216
  .size gelu_tanh_f32_constants, . - gelu_tanh_f32_constants
