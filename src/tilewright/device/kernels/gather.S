// gather_8: words of bytes that may come from anywhere, evenly from word to word.
//
//   z[j] = {x[j][0], x[j][o1], x[j][o2], x[j][o3]} & mask,   0 <= j < rows
//
//   $m2 z       multiple of 4; may be x if each word comes from itself
//   $m3 x       any address
//   $m4 table   z pitch, x pitch, o1, o2, o3, all in bytes, mask, rows
//
// Pitches and distances may be any numbers, negative ones too, but the z pitch is a multiple of 4. A
// worker takes every sixth word: 12 steps for each.

#include "vector.inc"

#define TABLE  Y
#define Z_NEXT m6
#define X_NEXT m7
#define BYTE1  m8
#define BYTE2  m9
#define BYTE3  m10
#define OTHER  m11
#define MASK   TABLE
#define LOW    m0
#define HIGH   m5

#define Z_PITCH 0
#define X_PITCH 1
#define ROWS    6

  VECTOR_SUPERVISOR gather_8, m2, m3, m4
  WORKER_START gather_8
  ld32    $TABLE, $mvertex_base, $mzero, 2
  ld32    $COUNT, $TABLE, $mzero, ROWS
  TAKE_SHARE
  brz     $COUNT, .Lgather_8_done
  add     $COUNT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $Z_NEXT, $TABLE, $mzero, Z_PITCH
  ld32    $X_NEXT, $TABLE, $mzero, X_PITCH
  mul     $SCRATCH, $WORKER, $Z_NEXT
  add     $Z, $Z, $SCRATCH
  mul     $SCRATCH, $WORKER, $X_NEXT
  add     $X, $X, $SCRATCH
  mul     $Z_NEXT, $Z_NEXT, CTXT_WORKERS
  mul     $X_NEXT, $X_NEXT, CTXT_WORKERS
  ld32    $BYTE1, $TABLE, $mzero, 2
  ld32    $BYTE2, $TABLE, $mzero, 3
  ld32    $BYTE3, $TABLE, $mzero, 4
  ld32    $MASK, $TABLE, $mzero, 5
.Lgather_8_word:
  ldz8    $LOW, $X, $mzero, 0
  ldz8    $OTHER, $X, $BYTE1, 0
  shuf8x8lo $LOW, $LOW, $OTHER
  ldz8    $HIGH, $X, $BYTE2, 0
  ldz8    $OTHER, $X, $BYTE3, 0
  shuf8x8lo $HIGH, $HIGH, $OTHER
  sort4x16lo $LOW, $LOW, $HIGH
  and     $LOW, $LOW, $MASK
  st32    $LOW, $Z, $mzero, 0
  add     $X, $X, $X_NEXT
  add     $Z, $Z, $Z_NEXT
  brnzdec $COUNT, .Lgather_8_word
  VECTOR_END gather_8
