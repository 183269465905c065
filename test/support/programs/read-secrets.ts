/** Prints what settings read from this process's standard input. */
import { SealiftError } from "../../../lib/contract/errors.ts";
import { Settings } from "../../../lib/support/settings.ts";

const load = (): Promise<Settings> =>
  Settings.load({
    flags: { "api-key-file": "-", "signing-secret-file": "-" },
    config: {},
    known: new Set(),
    environment: {},
  });

function read(settings: Settings, option: string): string | undefined {
  try {
    return settings.secret(option);
  } catch (error) {
    if (error instanceof SealiftError) return error.code;
    throw error;
  }
}

const first = await load();
const again = await load();
process.stdout.write(
  JSON.stringify({
    "api-key": read(first, "api-key"),
    "api-key of a target": read(first.with({ "host-id": "own" }), "api-key"),
    "signing-secret": read(first, "signing-secret"),
    "api-key after a reload": read(again, "api-key"),
    "signing-secret after a reload": read(again, "signing-secret"),
  }),
);
