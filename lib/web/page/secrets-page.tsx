import { Fragment, type ReactNode } from "react";
import { Layout } from "./layout.tsx";
import { Command } from "./parts.tsx";

interface Secrets {
  /** Title of the page. */
  title: string;
  /** Name of the thing whose secrets they are. */
  of: string;
  notice: string;
  secrets: Record<string, string | undefined>;
  children: ReactNode;
  below?: ReactNode;
}

/** Page of secrets with their names, shown this only time. */
export const SecretsPage = ({ title, of, notice, secrets, children, below }: Secrets) => (
  <Layout title={title}>
    <div className="narrow">
      <h1>{of}</h1>
      <p className="notice warn">{notice}</p>
      {Object.entries(secrets).map(
        ([name, secret]) =>
          secret !== undefined && (
            <Fragment key={name}>
              <h2>{name}</h2>
              <Command text={secret} />
            </Fragment>
          ),
      )}
      <p>{children}</p>
    </div>
    {below}
  </Layout>
);
