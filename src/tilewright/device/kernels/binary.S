// Sums, differences and products of two arrays, of an array and one value, element by element.
//
//   sub_f16, mul_f16, add_f32, sub_f32, mul_f32:
//     $m2 z, $m3 x, $m4 y   byte addresses, multiples of 8; z may be x or y
//     $m5 atoms             of each array: four halves or two singles
//   add_scalar_f16, …, mul_scalar_f32:  the same with one value at $m4, a multiple of 4 (f32) or 2
//
// Three bundles per atom and worker with two arrays, two with one. (add_f16 has a file of its own,
// as an example that uses no macros.)

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
