/** The magic number and the version. */
const HEADER_BYTES = 8;
/** Names and debugging information: nothing that runs. */
const CUSTOM_SECTION = 0;

/** Returns a WebAssembly module without its custom sections. @throws RangeError when it ends within a section */
export function stripWasm(module: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [module.subarray(0, HEADER_BYTES)];
  let at = HEADER_BYTES;
  while (at < module.length) {
    const start = at;
    const id = module[at++];
    // A LEB128 number.
    let size = 0;
    for (let shift = 0, byte = 0x80; (byte & 0x80) !== 0; shift += 7) {
      byte = module[at++] ?? 0;
      size += (byte & 0x7f) * 2 ** shift;
    }
    at += size;
    if (at > module.length) throw new RangeError("The WebAssembly module ends within a section.");
    if (id !== CUSTOM_SECTION) kept.push(module.subarray(start, at));
  }
  return Buffer.concat(kept);
}
