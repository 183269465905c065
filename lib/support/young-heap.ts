import { setFlagsFromString } from "node:v8";

/** V8's own factor: a program that has it uses its compiled code (docs/decisions/0013-bundle.md). */
const USUAL_GROWTH = 2;
const NO_GROWTH = 1;

let holders = 0;
let loads = 0;

const apply = (): void => {
  const factor = holders > 0 && loads === 0 ? NO_GROWTH : USUAL_GROWTH;
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
};

/**
 * Keeps V8's young heap from growing any more. A young generation that stays small is collected often, and with it the
 * buffers that hang on its objects.
 *
 * V8 refuses compiled code that was made under other flags, so programs call this when their modules are loaded.
 */
export function keepYoungHeapSmall(): void {
  holders++;
  apply();
}

/** Does what {@link keepYoungHeapSmall} does, until the end of the scope. */
export function smallYoungHeap(): Disposable {
  keepYoungHeapSmall();
  return {
    [Symbol.dispose]() {
      holders--;
      apply();
    },
  };
}

/** Loads modules while the young heap may be kept small: V8 accepts the compiled code that was made of them. */
export async function loadAsUsual<T>(load: () => Promise<T>): Promise<T> {
  loads++;
  if (holders > 0) apply();
  try {
    return await load();
  } finally {
    loads--;
    if (holders > 0) apply();
  }
}
