import { paceBuffers } from "../../support/buffer-pacing.ts";

/** Counts the bytes that all uploads, imports and downloads have released: they share one heap. */
export const countBuffered = paceBuffers();

/** Counts the characters of fleets that all views have sent. */
export const countRows = paceBuffers("rows");
