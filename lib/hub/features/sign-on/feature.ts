import { hubKey } from "../../keys/hub-secret.ts";
import type { HubFeature } from "../feature.ts";
import { SignOn, type SignOnOptions } from "./sign-on.ts";

export interface SignInOptions {
  /** The identity provider that people sign in by. Default: none, so that they sign in by API keys only. */
  signOn?: SignOnOptions;
}

/** Signing in at the pages by an identity provider, where the operator has named one. */
export const signOn: HubFeature<SignInOptions> = {
  name: "sign-on",
  async start({ database, keyring, clock, now }, { signOn: options }) {
    if (options === undefined) return {};
    return { signIn: new SignOn(options, await hubKey(database.kysely, keyring, "sign-on", now()), clock) };
  },
};
