import type { HubError } from "../../hub/base/errors.ts";
import { Layout } from "./layout.tsx";
import { Go } from "./parts.tsx";
import { pagePaths, useView, withQuery } from "./view.ts";

const TITLES: Record<number, string> = {
  403: "Not with this key",
  404: "Not found",
  409: "That is not possible now",
  422: "That does not fit",
  429: "Too many attempts",
  503: "Try again in a moment",
};

/** Page of an error: what happened, and how to continue. */
export function FailurePage({ error, next }: { error: HubError; next: string }) {
  const { principal } = useView();
  const title = TITLES[error.statusCode] ?? "That did not work";
  return (
    <Layout title={title}>
      <div className="narrow">
        <h1>{title}</h1>
        <p>{error.message}</p>
        {error.statusCode === 404 && principal === undefined && (
          <p>
            <Go to={withQuery(pagePaths.signIn(), { next })}>Sign in</Go> to see what a key of yours may see.
          </p>
        )}
        {error.statusCode === 403 && principal !== undefined && (
          <p>Sign out and sign in with a key that may, or ask an administrator for one.</p>
        )}
        <p>
          <Go to={pagePaths.home()}>Go to the catalogue</Go>
        </p>
      </div>
    </Layout>
  );
}
