import { Form } from "./forms.tsx";
import { Layout } from "./layout.tsx";
import { Go } from "./parts.tsx";
import { pagePaths, useView, withQuery } from "./view.ts";

/** Page on which a person enters an API key, or goes to the identity provider. */
export function SignInPage({ next, fault }: { next: string; fault: string | undefined }) {
  const { issuer } = useView();
  return (
    <Layout title="Sign in">
      <div className="narrow sign-in">
        <h1>Sign in</h1>
        <p className="lead">This hub keeps plugins, services and projects, and knows which hosts run them.</p>
        {issuer !== undefined && (
          <p>
            <Go to={withQuery(pagePaths.signOn(), { next })}>Sign in by {issuer}</Go>, or with an API key:
          </p>
        )}
        <Form to={pagePaths.signIn()}>
          {fault !== undefined && (
            <p className="notice bad" role="alert" id="fault">
              {fault}
            </p>
          )}
          <label htmlFor="key">API key</label>
          <input
            id="key"
            name="key"
            type="password"
            required
            maxLength={512}
            autoComplete="off"
            spellCheck={false}
            autoFocus
            aria-describedby={fault === undefined ? "key-help" : "fault key-help"}
            aria-invalid={fault === undefined ? undefined : true}
          />
          <p className="help" id="key-help">
            It begins with <code>slk_</code>. The browser gets a session of 8 hours in its place.
          </p>
          <input type="hidden" name="next" value={next} />
          <button>Sign in</button>
        </Form>
        <p className="help">
          No key yet? The administrator&rsquo;s first one is in <code>admin.key</code> in the hub&rsquo;s data folder;
          others are made with <code>sealift key create</code>.
        </p>
      </div>
    </Layout>
  );
}

/**
 * Page after the identity provider. It goes on by itself: a redirect would still count as the other site's, and the
 * browser would not send the session's cookie.
 */
export const SignedOnPage = ({ next }: { next: string }) => (
  <Layout title="Signed in" goOn={next}>
    <div className="narrow">
      <h1>Signed in</h1>
      <p>
        <Go to={next}>Go on</Go>
      </p>
    </div>
  </Layout>
);
