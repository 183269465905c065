import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import t from "tap";
import { FrameWalker, parseFrameHeader } from "../../../../lib/artifact/project/zstd-frame.ts";
import { SealiftError } from "../../../../lib/contract/errors.ts";
import { forgedFrame } from "../../../support/forged/artifact.ts";
import { needs } from "../../../support/programs/optional.ts";

/** "fine", or the code of the walker's refusal. */
function verdict(...chunks: Uint8Array[]): string {
  const walker = new FrameWalker();
  try {
    for (const chunk of chunks) walker.push(Buffer.from(chunk));
    walker.end();
    return "fine";
  } catch (error) {
    return error instanceof SealiftError ? error.code : String(error);
  }
}

/** A frame as our writer makes it: content size in the header, no checksum unless asked for. */
const frame = (content: Uint8Array, checksum = 0): Buffer =>
  zstdCompressSync(content, {
    pledgedSrcSize: content.length,
    params: { [constants.ZSTD_c_contentSizeFlag]: 1, [constants.ZSTD_c_checksumFlag]: checksum },
  });

const text = Buffer.from("the same words again and again, ".repeat(3000));
const samples = {
  empty: frame(Buffer.alloc(0)),
  "one byte": frame(Buffer.from("x")),
  "200 bytes": frame(randomBytes(200)),
  "300 bytes": frame(randomBytes(300)),
  compressible: frame(text),
  "compressible with checksum": frame(text, 1),
  incompressible: frame(randomBytes(400_000)),
  "incompressible with checksum": frame(randomBytes(400_000), 1),
  "zeros, as run-length blocks": frame(Buffer.alloc(1_000_000)),
  forged: forgedFrame(text),
};

t.test("one proper frame is accepted", async (t) => {
  for (const [name, bytes] of Object.entries(samples)) t.equal(verdict(bytes), "fine", name);
});

t.test("a frame that is cut at any byte is refused", async (t) => {
  for (const name of ["empty", "one byte", "300 bytes", "compressible with checksum"] as const) {
    const bytes = samples[name];
    for (let length = 0; length < bytes.length; length++) {
      if (verdict(bytes.subarray(0, length)) !== "zstd_invalid") t.fail(`${name}, ${length} of ${bytes.length} bytes`);
    }
  }
  t.pass();
});

t.test("whatever follows the frame is refused", async (t) => {
  const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
  for (const bytes of Object.values(samples)) {
    for (const more of [Buffer.alloc(1), samples.empty, samples.compressible, skippable, randomBytes(50)]) {
      t.equal(verdict(Buffer.concat([bytes, more])), "zstd_invalid");
      t.equal(verdict(bytes, more), "zstd_invalid", "in a chunk of its own");
    }
  }
  t.equal(verdict(Buffer.concat([skippable, samples.compressible])), "zstd_invalid", "a skippable frame in front");
});

t.test("how the bytes are cut into chunks changes no verdict", async (t) => {
  const bytes = fc.oneof(
    fc.constantFrom(...Object.values(samples).filter(({ length }) => length < 20_000)),
    fc
      .uint8Array({ maxLength: 100 })
      .map((content) => Buffer.concat([frame(content), Buffer.alloc(content.length % 2)])),
    fc.uint8Array({ maxLength: 60 }).map((junk) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), junk])),
    fc.uint8Array({ maxLength: 40 }).map((junk) => Buffer.from(junk)),
  );
  fc.assert(
    fc.property(bytes, fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 }), (whole, lengths) => {
      const chunks: Buffer[] = [];
      let at = 0;
      for (const length of lengths) {
        chunks.push(whole.subarray(at, at + length));
        at += length;
      }
      return verdict(whole) === verdict(...chunks, whole.subarray(at));
    }),
    { numRuns: 400 },
  );
  t.pass();
});

t.test(
  "a changed byte never makes the walker do anything but judge, and never disagree with the decoder's length",
  async (t) => {
    fc.assert(
      fc.property(fc.nat(samples.compressible.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const changed = Buffer.from(samples.compressible);
        changed[at]! ^= mask;
        const judged = verdict(changed);
        return judged === "fine" || judged === "zstd_invalid";
      }),
      { numRuns: 300 },
    );
    t.pass();
  },
);

t.test("the header's fields are read as RFC 8878 has them", async (t) => {
  t.match(parseFrameHeader(samples.compressible), { contentSize: text.length, checksum: false });
  t.match(parseFrameHeader(samples["compressible with checksum"]), { checksum: true });
  t.match(parseFrameHeader(samples.empty), { contentSize: 0 });
  for (const size of [255, 256, 257, 65_791, 65_792]) {
    t.equal(parseFrameHeader(frame(randomBytes(size)).subarray(0, 18))?.contentSize, size, `${size} bytes`);
  }
  t.match(parseFrameHeader(forgedFrame(text, { windowLog: 25 })), { windowSize: 2 ** 25, contentSize: text.length });
  t.equal(parseFrameHeader(samples.compressible.subarray(0, 4)), undefined, "too few bytes to tell");
});

t.test("a frame that our readers may not take is refused by its header alone", async (t) => {
  t.equal(verdict(forgedFrame(text, { contentSize: null })), "zstd_invalid", "no content size");
  t.equal(verdict(forgedFrame(text, { windowLog: 26 })), "zstd_invalid", "window of 2^26");
  t.equal(verdict(forgedFrame(text, { dictionaryId: 7 })), "zstd_invalid", "a dictionary");
  t.equal(verdict(forgedFrame(text, { dictionaryId: 0 })), "fine", "the dictionary id 0 means none");
  const reserved = Buffer.from(forgedFrame(text));
  reserved[4]! |= 0x08;
  t.equal(verdict(reserved), "zstd_invalid", "the reserved bit");
  const beyond = Buffer.from(forgedFrame(text));
  // Window descriptor: exponent 15 (2^25) and mantissa 1.
  beyond[5] = (15 << 3) | 1;
  t.equal(verdict(beyond), "zstd_invalid", "a window just beyond 2^25");
  const block = Buffer.from(forgedFrame(text));
  block[14]! |= 0x06;
  t.equal(verdict(block), "zstd_invalid", "the reserved block type");
  const large = Buffer.from(forgedFrame(text));
  large.writeUIntLE((128 * 1024 + 1) << 3, 14, 3);
  t.equal(verdict(large), "zstd_invalid", "a block larger than 128 KiB");
  t.equal(verdict(forgedFrame(text, { contentSize: 2 ** 53 })), "zstd_invalid", "an absurd content size");
});

interface NodeZstandard {
  compress(input: string, output: string, level: number, callback: (error: Error | null) => void): void;
  decompress(input: string, output: string, callback: (error: Error | null) => void): void;
}
const require = createRequire(import.meta.url);
const old = require("node-zstandard") as NodeZstandard;
const compress = promisify(old.compress.bind(old));
const decompress = promisify(old.decompress.bind(old));
const program = join(require.resolve("node-zstandard"), "..", "bin", "zstd.linux64");
const skip = spawnSync(program, ["-V"]).status !== 0 && "needs the zstd of node-zstandard, which is for x86-64";

t.test("node-zstandard, zstd 1.0.0 of 2016 (docs/decisions/0003-zstd.md)", { skip }, async (t) => {
  const folder = t.testdir({});
  const at = (name: string) => join(folder, name);

  t.test("decodes every frame of ours", async (t) => {
    for (const [name, bytes] of Object.entries(samples)) {
      writeFileSync(at("ours.zst"), bytes);
      await decompress(at("ours.zst"), at("ours"));
      t.ok(readFileSync(at("ours")).equals(zstdDecompressSync(bytes)), name);
    }
  });

  t.test("writes frames from files that we accept and decode: they carry the content size", async (t) => {
    for (const level of [1, 9]) {
      writeFileSync(at("theirs"), text);
      await compress(at("theirs"), at("theirs.zst"), level);
      const bytes = readFileSync(at("theirs.zst"));
      t.equal(parseFrameHeader(bytes)?.contentSize, text.length, `level ${level}`);
      t.equal(verdict(bytes), "fine");
      t.strictSame(zstdDecompressSync(bytes), text);
    }
  });

  t.test("writes frames from a stream without the content size, which we refuse as the formats say", async (t) => {
    const bytes = execFileSync(program, ["-c"], { input: text });
    t.strictSame(zstdDecompressSync(bytes), text, "a proper frame otherwise");
    t.equal(verdict(bytes), "zstd_invalid");
  });

  t.test("has a decoder that ends at the frame's end without a word, or takes a second frame", async (t) => {
    const twice = Buffer.concat([samples.compressible, samples.compressible]);
    writeFileSync(at("twice.zst"), twice);
    await decompress(at("twice.zst"), at("twice"));
    t.equal(readFileSync(at("twice")).length, 2 * text.length, "both frames");
    t.equal(verdict(twice), "zstd_invalid");
  });
});

t.test("the zstd of the system agrees, both ways", { skip: needs("zstd") }, async (t) => {
  for (const [name, bytes] of Object.entries(samples)) {
    const theirs = execFileSync("zstd", ["-dcq"], { input: bytes, maxBuffer: 8e6 });
    t.ok(theirs.equals(zstdDecompressSync(bytes)), name);
  }
  const path = join(t.testdir({}), "text");
  writeFileSync(path, text);
  t.equal(verdict(execFileSync("zstd", ["-cq", "-19", path])), "fine", "from a file, with size and checksum");
  t.equal(verdict(execFileSync("zstd", ["-cq"], { input: text })), "zstd_invalid", "from a stream, without size");
  t.equal(verdict(execFileSync("zstd", ["-cq", "--ultra", "--long=27", path])), "fine", "a small file needs no window");
});
