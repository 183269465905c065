import { usageError } from "../../lib/contract/errors.ts";
import { MAX_OPERATORS, MAX_TERMS_BYTES } from "../../lib/contract/settings/limits.ts";
import type { CardUpload } from "../../lib/contract/settings/records.ts";

/** Reads the public keys of operators: files, hexadecimal or base64. @throws UsageError `usage`, `key_file_invalid` */
export async function pinnedOperators(given: readonly string[] | undefined): Promise<string[]> {
  if (given === undefined || given.length === 0) return [];
  const { publicKeysFrom } = await import("../shell/signer.ts");
  const keys = (await publicKeysFrom(given)).map((key) => Buffer.from(key).toString("hex"));
  if (keys.length <= MAX_OPERATORS) return keys;
  throw usageError("usage", `A host obeys at most ${MAX_OPERATORS} operators, and ${keys.length} are named.`);
}

/** Reads the file of a host's card. @throws UsageError `config_invalid` */
export async function readHostCard(file: string): Promise<CardUpload> {
  const [{ cardUpload }, { readTextFile, readFault }, { safelyParsed }] = await Promise.all([
    import("../../lib/contract/settings/records.ts"),
    import("../../lib/support/files.ts"),
    import("../../lib/support/documents/safe-parse.ts"),
  ]);
  const invalid = (why: string) =>
    usageError("config_invalid", `${file} is no card of a host: ${why}.`, {
      hint: "`sealift join` and `sealift host key` write it.",
    });
  const text = await readTextFile(file, MAX_TERMS_BYTES * 2).catch((error: unknown) => {
    throw invalid(readFault(error));
  });
  try {
    const parsed = safelyParsed(cardUpload, JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // It is no JSON.
  }
  throw invalid("it has another form");
}
