import t from "tap";
import { stripWasm } from "../../../scripts/build/strip-wasm.ts";

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const { WebAssembly } = globalThis as unknown as { WebAssembly: { validate: (module: Uint8Array) => boolean } };

/** A type section with one function type of no parameters. */
const TYPES = [1, 4, 1, 0x60, 0, 0];

/** A custom section "name" whose size takes two bytes of LEB128. */
const custom = (bytes: number) => [
  0,
  ...[0x80 | ((bytes + 5) & 0x7f), (bytes + 5) >> 7],
  4,
  ...Buffer.from("name"),
  ...Buffer.alloc(bytes),
];

t.test("custom sections go, and what runs stays", (t) => {
  const module = Uint8Array.from([...HEADER, ...custom(200), ...TYPES, ...custom(150)]);
  t.ok(WebAssembly.validate(module));
  const stripped = stripWasm(module);
  t.same([...stripped], [...HEADER, ...TYPES]);
  t.throws(() => stripWasm(module.subarray(0, module.length - 1)), RangeError);
  t.end();
});
