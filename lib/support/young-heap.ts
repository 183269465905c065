import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8's young heap from growing any more. A young generation that stays small is collected often, and with it the
 * buffers that hang on its objects.
 *
 * V8 refuses compiled code that was made under other flags, so programs call this when their modules are loaded.
 */
export function keepYoungHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
