import fc from "fast-check";
import t from "tap";
import { encodeFrame, FrameError, FrameReader } from "../../../../lib/runtime/guest/frames.ts";

t.test("frames survive any cutting of their stream", (t) => {
  const frames = fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary", maxLength: 3000 })), {
    maxLength: 10,
  });
  fc.assert(
    fc.property(frames, fc.array(fc.nat(500), { minLength: 1 }), (contents, sizes) => {
      const stream = Buffer.concat(contents.map(([note, body]) => encodeFrame({ t: "x", note }, body)));
      const reader = new FrameReader();
      const read: [unknown, string][] = [];
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const size = 1 + (sizes[turn % sizes.length] ?? 0);
        for (const { header, body } of reader.push(stream.subarray(at, at + size))) read.push([header["note"], body]);
        at += size;
      }
      const sent = contents.map(([note, body]) => [
        JSON.parse(JSON.stringify(note)) as unknown,
        Buffer.from(body).toString(),
      ]);
      return JSON.stringify(read) === JSON.stringify(sent);
    }),
  );
  t.end();
});

t.test("any other bytes are a FrameError or wait for more, and never anything else", (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const { header } of new FrameReader().push(Buffer.from(bytes)))
          if (typeof header.t !== "string") return false;
        return true;
      } catch (error) {
        return error instanceof FrameError;
      }
    }),
  );
  t.end();
});
