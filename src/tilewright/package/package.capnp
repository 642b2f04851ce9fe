# The manifest of an .ipuexe file: all of a package but the contents of its blobs, which follow it.
# docs/package.md explains every field and the rest of the file.
#
# Fields of type Data whose comment names a number type are columns: arrays of such numbers, little
# endian, without a gap. The columns of one struct have the same number of entries, one per row.
# A row of another table is named by its number; 0xffffffff means no row.

@0xd3f1a92c7e5b8046;

const magic :UInt64 = 0x0000455845555049;
# The bytes "IPUEXE" and two zeros. They lie 16 bytes from the start of the file.

struct Package {
  magic @0 :UInt64;
  major @1 :UInt16;
  minor @2 :UInt16;
  architecture @3 :UInt16;
  memoryBase @4 :UInt32;
  memorySize @5 :UInt32;
  producer @6 :Text;

  blobs @7 :Blobs;
  entries @8 :Data;          # u32: where each tile's program starts, by physical id
  segments @9 :Segments;
  tensors @10 :List(Tensor);
  shards @11 :Shards;
  host @12 :Host;
  configuration @13 :Configuration;
  completion @14 :Completion;
  profilePlanBlob @15 :UInt32 = 0xffffffff;
  debugBlob @16 :UInt32 = 0xffffffff;
}

struct Blobs {
  digests @0 :Data;          # 32 bytes each: SHA-256 of the content
  sizes @1 :Data;            # u32, bytes
}

struct Segments {
  tile @0 :Data;             # u16
  address @1 :Data;          # u32
  size @2 :Data;             # u32, bytes
  kind @3 :Data;             # u8, of SegmentKind
  blob @4 :Data;             # u32
  offset @5 :Data;           # u32, bytes into the blob
  dataSize @6 :Data;         # u32, bytes
}

enum SegmentKind { code @0; row @1; packets @2; constant @3; state @4; data @5; parameter @6; scratch @7; }

struct Tensor {
  name @0 :Text;
  role @1 :Role;
  element @2 :ElementType;
  scale @3 :Int16;
  source @4 :Source;
  shape @5 :Data;            # u32, one per axis
  loopAxis @6 :Data;         # u8, from the outermost loop to the innermost
  loopExtent @7 :Data;       # u32
  blob @8 :UInt32 = 0xffffffff;
  sourceName @9 :Text;
}

enum Role { input @0; output @1; parameter @2; internal @3; }
enum ElementType { f32 @0; f16 @1; f8f143 @2; f8f152 @3; i32 @4; u32 @5; i16 @6; u16 @7; i8 @8; u8 @9; }
enum Source { none @0; segments @1; blob @2; file @3; }

struct Shards {
  tensor @0 :Data;           # u32
  tile @1 :Data;             # u16
  address @2 :Data;          # u32
  offset @3 :Data;           # u32, bytes into the stream
  size @4 :Data;             # u32, bytes
}

struct Host {
  pages @0 :Pages;
  calls @1 :List(Call);
  batches @2 :Batches;
  slices @3 :Slices;
  entryPoints @4 :List(EntryPoint);
  commandWord @5 :CommandWord;
  startupMark @6 :UInt16;
}

struct Pages {
  index @0 :Data;            # u32, units of 4 KiB
  size @1 :Data;             # u32, bytes
}

struct Call {
  name @0 :Text;
  group @1 :Group;
  endsOpen @2 :Bool;
}

enum Group { load @0; run @1; save @2; }
enum Direction { toDevice @0; fromDevice @1; }

struct Batches {
  call @0 :Data;             # u32
  direction @1 :Data;        # u8, of Direction
}

struct Slices {
  batch @0 :Data;            # u32
  tensor @1 :Data;           # u32
  offset @2 :Data;           # u32, bytes into the stream
  page @3 :Data;             # u16, a row of pages
  pageOffset @4 :Data;       # u32, bytes
  size @5 :Data;             # u32, bytes
}

struct EntryPoint {
  name @0 :Text;
  command @1 :UInt32;
  calls @2 :Data;            # u32, rows of calls in the order in which they are made
}

struct CommandWord {
  page @0 :UInt32;
  offset @1 :UInt32;
}

struct Configuration {
  offset @0 :Data;           # u32, bytes
  value @1 :Data;            # u32
  when @2 :Data;             # u8, of When
}

enum When { beforeLoad @0; afterLoad @1; }

struct Completion {
  address @0 :UInt32;
  value @1 :UInt32;
}
