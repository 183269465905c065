import { type Page, pagesOf } from "../features/feature.ts";
import { pagePaths } from "../page/view.ts";

const signing = pagesOf(() => import("./sign-in-screens.tsx"));
const { get, post } = pagesOf(() => import("./screens.tsx"));
const open = (page: Page): Page => ({ ...page, isPublic: true });

/** Signing in and out, keys, and what operators see. */
export const accountPages: readonly Page[] = [
  open(signing.get(pagePaths.signIn(), ({ askForKey }) => askForKey)),
  open(signing.post(pagePaths.signIn(), ({ signIn }) => signIn)),
  open(signing.get(pagePaths.signOn(), ({ beginSignOn }) => beginSignOn)),
  open(signing.get(pagePaths.signedOn(), ({ finishSignOn }) => finishSignOn)),
  signing.post(pagePaths.signOut(), ({ signOut }) => signOut),
  get("/keys", ({ keys }) => keys),
  post("/keys", ({ createKey }) => createKey),
  post("/keys/:id/revoke", ({ revokeKey }) => revokeKey),
  get("/audit", ({ audit }) => audit),
  get("/hub", ({ health }) => health),
];
