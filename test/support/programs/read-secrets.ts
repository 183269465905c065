/** Prints what options read from this process's standard input. */
import { SealiftError } from "../../../lib/contract/errors.ts";
import { fileLayer, flagsLayer, type Layer } from "../../../lib/options/layers.ts";
import { group } from "../../../lib/options/option.ts";
import { resolveOptions } from "../../../lib/options/resolve.ts";
import { secret } from "../../../lib/options/secrets.ts";

const { apiKey, signingSecret } = group("Secrets", {
  apiKey: secret({ help: "One" }),
  signingSecret: secret({ help: "Another one" }),
});
const layers = (): Layer[] => [flagsLayer({ "api-key-file": "-", "signing-secret-file": "-" })];

const read = async (option: typeof apiKey, from: readonly Layer[]): Promise<string | undefined> => {
  try {
    return (await resolveOptions({ option }, from)).option;
  } catch (error) {
    if (error instanceof SealiftError) return error.code;
    throw error;
  }
};

const first = layers();
process.stdout.write(
  JSON.stringify({
    "api-key": await read(apiKey, first),
    "api-key of a target": await read(apiKey, [fileLayer({ host_id: "own" }, "watch.yaml"), ...first]),
    "signing-secret": await read(signingSecret, first),
    "api-key after a reload": await read(apiKey, layers()),
    "signing-secret after a reload": await read(signingSecret, layers()),
  }),
);
