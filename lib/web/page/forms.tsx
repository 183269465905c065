import type { InputHTMLAttributes, ReactNode } from "react";
import { useView } from "./view.ts";

/** Address that a form is sent to, and its content. */
interface Sent {
  to: string;
  className?: string | undefined;
  children: ReactNode;
}

/** Form of this hub. */
export function Form({ to, children, className }: Sent) {
  const { base, formToken } = useView();
  return (
    <form method="post" action={base + to} className={className} autoComplete="off">
      <input type="hidden" name="form_token" value={formToken} />
      {children}
    </form>
  );
}

interface Filtered extends Omit<Sent, "className"> {
  /** Name of the form, unless its fields make its purpose clear. */
  label?: string;
  className?: "filter" | "search";
}

/** Form that filters the rows of a list. */
export function Filter({ to, label, className = "filter", children }: Filtered) {
  const { base } = useView();
  return (
    <form className={className} action={base + to} role="search" aria-label={label}>
      {children}
    </form>
  );
}

type Fields = Record<string, string>;

const Hidden = ({ of }: { of: Fields }) =>
  Object.entries(of).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />);

/**
 * Form that is one button, for harmless actions such as sending a message again.
 *
 * @param sends fields sent with it @param title distinguishes the button from others like it
 */
export const ActionButton = ({
  to,
  className = "plain",
  sends = {},
  title,
  children,
}: Sent & { sends?: Fields; title?: string }) => (
  <Form to={to} className="inline">
    <Hidden of={sends} />
    <button className={className || undefined} aria-label={title}>
      {children}
    </button>
  </Form>
);

/** Form that opens below its title. @param className `act` for one beside others, `panel` for one above a list */
export const Opened = ({ to, className = "act", title, children }: Sent & { title: string }) => (
  <details className={className}>
    <summary>{title}</summary>
    <Form to={to}>{children}</Form>
  </details>
);

interface Confirmation {
  /** Address of the subject; the action's path is below it. */
  at: string;
  /** Verb that opens the question. */
  verb: string;
  /** Subject of the action. */
  thing: string;
  /** Fields sent with it. */
  sends?: Fields;
  isRemoval?: boolean;
  /** Question to confirm. */
  children: ReactNode;
}

/** Form that opens with a question, and has the button that sends it below: no single click acts. */
export const Ask = ({ at, verb, thing, sends = {}, isRemoval = false, children }: Confirmation) => (
  <details className="act">
    <summary className={isRemoval ? "bad-text" : undefined} aria-label={`${verb} ${thing}`}>
      {verb}
    </summary>
    <Form to={`${at}/${verb.toLowerCase()}`}>
      <p>{children}</p>
      <Hidden of={sends} />
      <button className={isRemoval ? "bad" : undefined}>
        {verb} {thing}
      </button>
    </Form>
  </details>
);

/** Form like {@link Ask}, for removing something. */
export const Remove = (question: Confirmation) => <Ask {...question} isRemoval />;

/** Field of a form below its label. */
export const Field = ({ label, ...input }: { label: string } & InputHTMLAttributes<HTMLInputElement>) => (
  <label>
    {label}
    <input {...input} />
  </label>
);

/** Checkbox beside its label. */
export const Check = ({ name, value = "yes", isChecked, children }: Checked) => (
  <label className="check">
    <input type="checkbox" name={name} value={value} defaultChecked={isChecked} />
    <span>{children}</span>
  </label>
);

interface Checked {
  name: string;
  value?: string;
  isChecked?: boolean;
  children: ReactNode;
}

/** Selection below its label: texts by their values. */
export function Select({ label, name, value, of }: { label: string; name: string; value?: string; of: Texts }) {
  return (
    <label>
      {label}
      <select name={name} defaultValue={value}>
        {of.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

type Texts = readonly (readonly [value: string, text: ReactNode])[];
