import { paceBuffers } from "../support/buffer-pacing.ts";

/** Counts the bytes that uploads, imports and downloads let go of, of all requests together: they share one heap. */
export const countBuffered = paceBuffers();
