// Casts, element by element, from one array to another that does not overlap it.
//
//   cast_f16_f32, cast_f32_f16:
//     $m2 z, $m3 x   byte addresses, multiples of 8
//     $m4 atoms      64-bit atoms of the array of wider elements
//   cast_f8_f16, cast_f16_f8:
//     $m5 format     bit 7: 1 for F143, 0 for F152; bits 5:0: the signed exponent e of a scale. An
//                    element means value · 2**e
//
// Conversions round to nearest even, and what is too large is treated as $FP_ICTL says. A worker
// takes an atom of narrow elements, and the two of wide ones, at a time; the last pair of wide atoms
// may be half a pair.

#include "vector.inc"

#define END m7

#define WIDE_NEXT (2 * CTXT_WORKERS - 1)

// The state of casts from and to quarters goes on with the scale and the format, as control registers
// take them. FP_NFMT has a bit for weights and one for registers.
.macro QUARTER_SUPERVISOR name negated
  VECTOR_FUNCTION \name
  shr     $m6, $m5, 7
  .if \negated
  sub     $m5, $mzero, $m5
  .endif
  mul     $m6, $m6, CSR_W_FP_NFMT__CWEI_FMT__MASK | CSR_W_FP_NFMT__ARF_FMT__MASK << CSR_W_FP_NFMT__ARF_FMT__SHIFT
  and     $m5, $m5, CSR_W_FP_SCL__SCALE__MASK
  VECTOR_LAUNCH \name, m2, m3, m4, m5, m6
.endm

.macro SET_QUARTERS
  ld32    $a0, $mvertex_base, $mzero, 3
  { ld32 $a1, $mvertex_base, $mzero, 4 ; uput $FP_SCL, $a0 }
  uput    $FP_NFMT, $a1
.endm

// END: where the wide array ends. COUNT: pairs of wide atoms of this worker. WORKER and SCRATCH: where
// its first narrow and wide atoms lie.
.macro TAKE_PAIRS name wide
  WORKER_START \name
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $COUNT, $mvertex_base, $mzero, 2
  shl     $END, $COUNT, 3
  add     $END, $END, $\wide
  add     $COUNT, $COUNT, 1
  shr     $COUNT, $COUNT, 1
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  shl     $SCRATCH, $WORKER, 4
  shl     $WORKER, $WORKER, 3
.endm

// Narrow to wide: `convert` takes half of the atom in $a0:1 to an atom.
.macro WIDEN name convert set_format=
  TAKE_PAIRS \name, Z
  \set_format
  add     $X, $X, $WORKER
  add     $Z, $Z, $SCRATCH
  ld64step $a0:1, $mzero, $X+=, CTXT_WORKERS
  { add   $COUNT, $COUNT, -1 ; \convert $a4:5, $a0 }
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { ld64step $a0:1, $mzero, $X+=, CTXT_WORKERS ; \convert $a6:7, $a1 }
  { st64step $a4:5, $mzero, $Z+=, 1 ; \convert $a4:5, $a0 }
  { st64step $a6:7, $mzero, $Z+=, WIDE_NEXT ; fnop }
.L\name\()_loop_end:
  { st64step $a4:5, $mzero, $Z+=, 1 ; \convert $a6:7, $a1 }
  cmpult  $SCRATCH, $Z, $END
  brz     $SCRATCH, .L\name\()_done
  st64    $a6:7, $Z, $mzero, 0
  VECTOR_END \name
.endm

// Wide to narrow: `convert` takes the pair of atoms in $a0:3 to one.
.macro NARROW name convert set_format=
  TAKE_PAIRS \name, X
  \set_format
  add     $Z, $Z, $WORKER
  add     $X, $X, $SCRATCH
  ld64step $a0:1, $mzero, $X+=, 1
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { ld64step $a2:3, $mzero, $X+=, WIDE_NEXT ; fnop }
  { ld64step $a0:1, $mzero, $X+=, 1 ; \convert $a4:5, $a0:3 }
  { st64step $a4:5, $mzero, $Z+=, CTXT_WORKERS ; fnop }
.L\name\()_loop_end:
  { cmpult $SCRATCH, $X, $END ; zero $a2:3 }
  brz     $SCRATCH, .L\name\()_last
  ld64    $a2:3, $X, $mzero, 0
.L\name\()_last:
  \convert $a4:5, $a0:3
  st64step $a4:5, $mzero, $Z+=, CTXT_WORKERS
  VECTOR_END \name
.endm

  VECTOR_SUPERVISOR cast_f16_f32, m2, m3, m4
  WIDEN cast_f16_f32, f16v2tof32
  VECTOR_SUPERVISOR cast_f32_f16, m2, m3, m4
  NARROW cast_f32_f16, f32v4tof16
  QUARTER_SUPERVISOR cast_f8_f16, 0
  WIDEN cast_f8_f16, f8v4tof16, SET_QUARTERS
  QUARTER_SUPERVISOR cast_f16_f8, 1
  NARROW cast_f16_f8, f16v8tof8, SET_QUARTERS

// cast_i32_f32:   $m2 z, $m3 x   byte addresses, multiples of 8; z may be x
//                 $m4 atoms      of each array
  VECTOR_SUPERVISOR cast_i32_f32, m2, m3, m4
  VECTOR_WORKER cast_i32_f32, X
  add     $X, $X, $WORKER
  NEXT_X
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT cast_i32_f32, $COUNT, loop
.Lcast_i32_f32_loop:
  { nop    ; f32fromi32 $a4, $a0 }
  { NEXT_X ; f32fromi32 $a5, $a1 }
  { KEEP_Z ; fnop }
.Lcast_i32_f32_loop_end:
  f32fromi32 $a4, $a0
  f32fromi32 $a5, $a1
  KEEP_Z
  VECTOR_END cast_i32_f32

// cast_f8_f32, cast_f32_f8:
//   $m2 z, $m3 x   byte addresses, multiples of 8
//   $m4 atoms      of the singles
//   $m5 format     as above
//
// A worker takes a word of quarters, and the pair of atoms of its four singles, at a time. Quarters
// become halves without a scale, which is exact, and the scale is a factor of singles. On the way back,
// singles become halves with 10 bits behind the point, the last of which is set if any of those that are
// cut off was: rounded so, they round to the same quarter as the single.

#define WORD_NEXT (2 * CTXT_WORKERS - 1)
#define SINGLE_BIAS 127
#define SINGLE_MANTISSA 23
#define HALF_MANTISSA 10
#define STATE_FACTOR 4

// $m6: the format as the control register takes it. $m5: the scale, or one over it, as a single.
.macro QUARTER_FACTOR negated
  shr     $m6, $m5, 7
  mul     $m6, $m6, CSR_W_FP_NFMT__CWEI_FMT__MASK | CSR_W_FP_NFMT__ARF_FMT__MASK << CSR_W_FP_NFMT__ARF_FMT__SHIFT
  shl     $m5, $m5, 26
  shrs    $m5, $m5, 26
  .if \negated
  sub     $m5, $mzero, $m5
  .endif
  add     $m5, $m5, SINGLE_BIAS
  shl     $m5, $m5, SINGLE_MANTISSA
.endm

  VECTOR_FUNCTION cast_f8_f32
  QUARTER_FACTOR 0
  VECTOR_LAUNCH cast_f8_f32, m2, m3, m4, m6, m5
  TAKE_PAIRS cast_f8_f32, Z
  ld32    $a0, $mvertex_base, $mzero, 3
  { shr   $WORKER, $WORKER, 1 ; uput $FP_NFMT, $a0 }
  { add   $X, $X, $WORKER ; uput $FP_SCL, $azero }
  ld32    $a7, $mvertex_base, $mzero, STATE_FACTOR
  add     $Z, $Z, $SCRATCH
  { add   $COUNT, $COUNT, -1 ; mov $a6, $a7 }
  ld32step $a0, $mzero, $X+=, CTXT_WORKERS
  f8v4tof16 $a0:1, $a0
  ALIGNED_RPT cast_f8_f32, $COUNT, loop
.Lcast_f8_f32_loop:
  { nop ; f16v2tof32 $a2:3, $a0 }
  { nop ; f16v2tof32 $a4:5, $a1 }
  { ld32step $a0, $mzero, $X+=, CTXT_WORKERS ; f32v2mul $a2:3, $a2:3, $a6:7 }
  { st64step $a2:3, $mzero, $Z+=, 1 ; f32v2mul $a4:5, $a4:5, $a6:7 }
  { st64step $a4:5, $mzero, $Z+=, WORD_NEXT ; f8v4tof16 $a0:1, $a0 }
.Lcast_f8_f32_loop_end:
  f16v2tof32 $a2:3, $a0
  f32v2mul $a2:3, $a2:3, $a6:7
  { st64step $a2:3, $mzero, $Z+=, 1 ; f16v2tof32 $a4:5, $a1 }
  cmpult  $SCRATCH, $Z, $END
  { brz   $SCRATCH, .Lcast_f8_f32_done ; f32v2mul $a4:5, $a4:5, $a6:7 }
  st64    $a4:5, $Z, $mzero, 0
  VECTOR_END cast_f8_f32

// Constants, in pairs behind the four words of the state: numbers of atoms.
#define CUT_OFF  2
#define LAST_BIT 3
#define FACTORS  4

  VECTOR_FUNCTION cast_f32_f8
  QUARTER_FACTOR 1
  setzi   $m8, 1 << (SINGLE_MANTISSA - HALF_MANTISSA)
  sub     $m7, $mzero, $m8
  VECTOR_LAUNCH cast_f32_f8, m2, m3, m4, m6, m7, m7, m8, m8, m5, m5

// Two singles rounded to 10 bits and scaled, with CUT_OFF in $a6:7; `load` is what the main lane does
// when they are used up.
.macro TEN_BITS pair load:vararg
  { ld64  $a6:7, $mvertex_base, $mzero, LAST_BIT ; and64 $a4:5, $\pair, $a6:7 }
  { nop   ; f32v2cmpeq $\pair, $\pair, $a4:5 }
  { ld64  $a6:7, $mvertex_base, $mzero, FACTORS ; andc64 $\pair, $a6:7, $\pair }
  { nop   ; or64 $\pair, $\pair, $a4:5 }
  { \load ; f32v2mul $\pair, $\pair, $a6:7 }
.endm

  TAKE_PAIRS cast_f32_f8, X
  ld32    $a0, $mvertex_base, $mzero, 3
  { shr   $WORKER, $WORKER, 1 ; uput $FP_NFMT, $a0 }
  { add   $Z, $Z, $WORKER ; uput $FP_SCL, $azero }
  add     $X, $X, $SCRATCH
  add     $COUNT, $COUNT, -1
.Lcast_f32_f8_word:
  ld64step $a0:1, $mzero, $X+=, 1
  { cmpult $SCRATCH, $X, $END ; zero $a2:3 }
  brz     $SCRATCH, .Lcast_f32_f8_last
  ld64    $a2:3, $X, $mzero, 0
.Lcast_f32_f8_last:
  ld64    $a6:7, $mvertex_base, $mzero, CUT_OFF
  TEN_BITS a0:1, ld64 $a6:7, $mvertex_base, $mzero, CUT_OFF
  TEN_BITS a2:3, add $X, $X, 8 * WORD_NEXT
  { nop   ; f32v4tof16 $a0:1, $a0:3 }
  { nop   ; zero $a2:3 }
  { nop   ; f16v8tof8 $a0:1, $a0:3 }
  st32step $a0, $mzero, $Z+=, CTXT_WORKERS
  brnzdec $COUNT, .Lcast_f32_f8_word
  VECTOR_END cast_f32_f8
