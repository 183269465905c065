import { paceBuffers } from "../../support/buffer-pacing.ts";

/** Counts the bytes that all uploads, imports and downloads have released: they share one heap. */
export const countBuffered = paceBuffers();

/** Counts the characters of fleet lists that were sent to pages, so that their memory is freed in time. */
export const countRows = paceBuffers("rows");
