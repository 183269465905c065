import prettyBytes from "pretty-bytes";

/** Formats bytes for people, in powers of 1024. */
export const sizeText = (bytes: number): string => prettyBytes(bytes, { binary: true });
