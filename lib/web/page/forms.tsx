import type { InputHTMLAttributes, ReactNode } from "react";
import { useView } from "./view.ts";

/** The address that a form is sent to, and what is in it. */
interface Sent {
  to: string;
  className?: string | undefined;
  children: ReactNode;
}

/** A form of this hub. */
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
  /** Name of the form, where its fields do not say what it is for. */
  label?: string;
  className?: "filter" | "search";
}

/** A form that asks for fewer rows of a list. */
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
 * A form that is one button, for what changes nothing that anybody has: a message is sent once more.
 *
 * @param sends fields that go with it @param title tells the button from others like it
 */
export const Act = ({
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

/** A form that opens below its title. @param className `act` for one beside others, `panel` for one above a list */
export const Opened = ({ to, className = "act", title, children }: Sent & { title: string }) => (
  <details className={className}>
    <summary>{title}</summary>
    <Form to={to}>{children}</Form>
  </details>
);

interface Question {
  /** The address of the thing; what is done to it is below. */
  at: string;
  /** The verb that opens the question. */
  verb: string;
  /** The thing that it is done to. */
  thing: string;
  /** Fields that go with it. */
  sends?: Fields;
  isRemoval?: boolean;
  /** The question. */
  children: ReactNode;
}

/** A form that opens with a question, and only the button below that sends it: nothing is done by one click. */
export const Ask = ({ at, verb, thing, sends = {}, isRemoval = false, children }: Question) => (
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

/** As {@link Ask}, for what takes something away. */
export const Remove = (question: Question) => <Ask {...question} isRemoval />;

/** A field of a form below its label. */
export const Field = ({ label, ...input }: { label: string } & InputHTMLAttributes<HTMLInputElement>) => (
  <label>
    {label}
    <input {...input} />
  </label>
);

/** A box to check, beside its label. */
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

/** A choice below its label: texts by their values. */
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
