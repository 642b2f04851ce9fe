// Sums, differences, products and quotients of two arrays, of an array and one value, element by
// element.
//
//   sub_f16, mul_f16, div_f16, add_f32, sub_f32, mul_f32, div_f32:
//     $m2 z, $m3 x, $m4 y   byte addresses, multiples of 8; z may be x or y
//     $m5 atoms             of each array: four halves or two singles
//   add_scalar_f16, …, div_scalar_f32:  the same with one value at $m4, a multiple of 4 (f32) or 2
//
// Three bundles per atom and worker with two arrays, two with one, but for quotients: there is a
// division of single singles only. (add_f16 has a file of its own, as an example without macros.)

#include "vector.inc"

.macro BINARY name operation
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  VECTOR_WORKER \name, X, Y
  add     $X, $X, $WORKER
  add     $Y, $Y, $WORKER
  NEXT_X
  NEXT_Y
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { NEXT_X ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  { NEXT_Y ; fnop }
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \operation $Z_ATOM, $X_ATOM, $Y_ATOM
  KEEP_Z
  VECTOR_END \name
.endm

// `load` puts the value into $a2; all lanes of the pair $a2:3 then hold it.
.macro WITH_SCALAR name operation load
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  VECTOR_WORKER \name, X, Y
  add     $X, $X, $WORKER
  { \load $a2, $Y, $mzero, 0 ; fnop }
  { NEXT_X ; mov $a3, $a2 }
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { NEXT_X ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \operation $Z_ATOM, $X_ATOM, $Y_ATOM
  KEEP_Z
  VECTOR_END \name
.endm

  BINARY sub_f16, f16v4sub
  BINARY mul_f16, f16v4mul
  BINARY add_f32, f32v2add
  BINARY sub_f32, f32v2sub
  BINARY mul_f32, f32v2mul

  WITH_SCALAR add_scalar_f16, f16v4add, ldb16
  WITH_SCALAR sub_scalar_f16, f16v4sub, ldb16
  WITH_SCALAR mul_scalar_f16, f16v4mul, ldb16
  WITH_SCALAR add_scalar_f32, f32v2add, ld32
  WITH_SCALAR sub_scalar_f32, f32v2sub, ld32
  WITH_SCALAR mul_scalar_f32, f32v2mul, ld32

// Quotients. `load` is what the main lane does when x (and y) are used up.

.macro DIVIDE_F32 load:vararg
  { nop ; f32div $a4, $a0, $a2 }
  { \load ; f32div $a5, $a1, $a3 }
.endm

.macro DIVIDE_F16 load:vararg
  { nop ; f16v2tof32 $a4:5, $a0 }
  { nop ; f16v2tof32 $a6:7, $a2 }
  { nop ; f32div $a4, $a4, $a6 }
  { nop ; f32div $a5, $a5, $a7 }
  { nop ; f32v2tof16 $a4, $a4:5 }
  { nop ; f16v2tof32 $a2:3, $a3 }
  { \load ; f16v2tof32 $a6:7, $a1 }
  { nop ; f32div $a6, $a6, $a2 }
  { nop ; f32div $a7, $a7, $a3 }
  { nop ; f32v2tof16 $a5, $a6:7 }
.endm

// The value is in $a6 as a single.
.macro DIVIDE_BY_F16 load:vararg
  { nop ; f16v2tof32 $a2:3, $a0 }
  { nop ; f32div $a2, $a2, $a6 }
  { nop ; f32div $a3, $a3, $a6 }
  { nop ; f32v2tof16 $a4, $a2:3 }
  { \load ; f16v2tof32 $a2:3, $a1 }
  { nop ; f32div $a2, $a2, $a6 }
  { nop ; f32div $a3, $a3, $a6 }
  { nop ; f32v2tof16 $a5, $a2:3 }
.endm

.macro QUOTIENT name divide
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  VECTOR_WORKER \name, X, Y
  add     $X, $X, $WORKER
  add     $Y, $Y, $WORKER
  NEXT_X
  NEXT_Y
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  \divide NEXT_X
  { NEXT_Y ; fnop }
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \divide nop
  KEEP_Z
  VECTOR_END \name
.endm

.macro QUOTIENT_BY_SCALAR name divide load convert:vararg
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  VECTOR_WORKER \name, X, Y
  add     $X, $X, $WORKER
  \load   $a2, $Y, $mzero, 0
  { NEXT_X ; \convert }
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  \divide NEXT_X
  { KEEP_Z ; fnop }
.L\name\()_loop_end:
  \divide nop
  KEEP_Z
  VECTOR_END \name
.endm

  QUOTIENT div_f16, DIVIDE_F16
  QUOTIENT div_f32, DIVIDE_F32
  QUOTIENT_BY_SCALAR div_scalar_f16, DIVIDE_BY_F16, ldb16, f16tof32 $a6, $a2
  QUOTIENT_BY_SCALAR div_scalar_f32, DIVIDE_F32, ld32, mov $a3, $a2
