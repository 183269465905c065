import { createHmac, randomBytes } from "node:crypto";
import { dirname } from "node:path";
import * as z from "zod";
import { later } from "../../contract/later.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder } from "../../releases/durability.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { writeFileAtomic } from "../../support/files.ts";

/** Most secrets remembered per target: the last ones, in case the developer changes it. */
const MAX_SECRETS = 8;

const proof = later(() => z.object({ salt: z.string(), digests: z.array(z.string()) }));

const fileOf = (layout: Layout, target: TargetName): string => layout.trust(target).replace(/\.pub$/, ".proof");

const digestOf = (secret: string, salt: string): string => createHmac("sha256", secret).update(salt).digest("hex");

/** Whether a signing secret has verified an archive of this target on this host before. */
export async function isProven(layout: Layout, target: TargetName, secret: string): Promise<boolean> {
  const found = await readJsonFile(fileOf(layout, target), proof);
  return found?.digests.includes(digestOf(secret, found.salt)) ?? false;
}

/** Remembers that a signing secret has verified an archive, as a salted digest that no other user can read. */
export async function rememberProven(layout: Layout, target: TargetName, secret: string): Promise<void> {
  const file = fileOf(layout, target);
  const { salt, digests } = (await readJsonFile(file, proof)) ?? { salt: randomBytes(16).toString("hex"), digests: [] };
  const digest = digestOf(secret, salt);
  if (digests.includes(digest)) return;
  await makeDurableFolder(layout, dirname(file));
  const kept = { salt, digests: [...digests, digest].slice(-MAX_SECRETS) };
  await writeFileAtomic(file, `${JSON.stringify(kept)}\n`, { mode: 0o600, durable: layout.durability !== "none" });
}
