import { Command } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { registration } from "../../lib/options/marketplace.ts";
import { withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";

export class MarketplaceSigningKey extends withOptions(registration) {
  static override paths = [["marketplace", "signing-key"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Register your signing secret, for the archives that the hub imports",
    details: `
      \`marketplace publish --import\` has the hub fetch an archive and sign it in your name. The hub keeps the secret
      sealed under its key-encryption key, in place of an earlier one, and never gives it out. Archives that you publish
      with \`--archive\` are signed on this machine and need none of this.
    `,
    examples: [
      ["Register it", "$0 marketplace signing-key --signing-secret-file secret.txt"],
      ["Whether one is registered", "$0 marketplace signing-key --status"],
      ["Have the hub forget it", "$0 marketplace signing-key --forget"],
    ],
  });

  override async run(): Promise<number> {
    const { status, forget, dryRun, signingSecret: secret = "" } = this.options;
    if (status && forget) throw usageError("usage", "Give either --status or --forget.");
    if (dryRun && !forget) throw usageError("usage", "--dry-run goes with --forget.");
    const [{ callsOf }, { ifFound }, routes, { signingKeyRequest }] = await Promise.all([
      import("../../lib/client/calls.ts"),
      import("../../lib/client/answers.ts"),
      import("../../lib/contract/signing-key/routes.ts"),
      import("../../lib/contract/surfaces/marketplace.ts"),
    ]);
    const client = callsOf(routes, hubConnection(this.options, MARKETPLACE_TIMEOUT_MS));
    if (dryRun) {
      const found = await ifFound(client.showSigningKey());
      this.note(
        found === undefined
          ? "No signing secret is registered: nothing would be forgotten."
          : `would forget the signing secret of ${found.owner}, registered since ${found.created_at}`,
      );
      return this.done({ registered: found !== undefined, ...found, dry_run: true });
    }
    if (forget) {
      await client.forgetSigningKey();
      this.note("The hub has forgotten your signing secret; it can import nothing for you.");
      return this.done({ registered: false, dry_run: false });
    }
    if (status) {
      const found = await ifFound(client.showSigningKey());
      if (this.json) return this.done({ registered: found !== undefined, ...found });
      this.print.line(
        found === undefined
          ? "No signing secret is registered."
          : `The signing secret of ${found.owner} is registered since ${found.created_at}.`,
      );
      return 0;
    }
    if (!signingKeyRequest.safeParse({ secret }).success)
      throw usageError("usage", "A signing secret has 16 to 4096 characters; this one has not.");
    const record = await client.registerSigningKey({ body: { secret } });
    this.note(`The hub signs what it imports for ${record.owner} with this secret from now on.`);
    return this.done({ registered: true, ...record });
  }
}
