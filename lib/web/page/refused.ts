import { Children, createContext, isValidElement, type ReactNode, useContext } from "react";
import { useView } from "./view.ts";

/** Form that the hub refused. Its page is shown again with what was entered, and with the reason. */
export interface Refused {
  /** Address that it was sent to, below the base. */
  action: string;
  fields: URLSearchParams;
  message: string;
  /** Set once a page has shown it. */
  isShown: boolean;
}

/** The form that surrounds a field, if it was refused. */
export const RefusedForm = createContext<Refused | undefined>(undefined);

type Fields = Readonly<Record<string, string>>;

/** Returns the hidden fields among a form's children: they tell apart forms of one address. */
function hiddenIn(children: ReactNode): Fields {
  const inputs = Children.toArray(children).filter((child) =>
    isValidElement<{ type?: string; name?: string; value?: string }>(child),
  );
  return Object.fromEntries(
    inputs.flatMap(({ type, props }) =>
      type === "input" && props.type === "hidden" ? [[props.name ?? "", String(props.value)]] : [],
    ),
  );
}

/** Returns what was refused of a form; undefined for another form. @param sends hidden fields beside the children's */
export function useRefused(to: string, children: ReactNode, sends: Fields = {}): Refused | undefined {
  const { refused } = useView();
  if (refused?.action !== to) return undefined;
  const hidden = Object.entries({ ...hiddenIn(children), ...sends });
  if (!hidden.every(([name, value]) => refused.fields.getAll(name).includes(value))) return undefined;
  refused.isShown = true;
  return refused;
}

/** State of a field of a refused form. */
interface Entered {
  /** Values that were entered; undefined for a form that was not refused. */
  values: readonly string[] | undefined;
  /** Reason of the refusal; undefined where that is about something else. */
  fault: string | undefined;
}

/** Returns what was entered in a field of the surrounding form. @param name of the field */
export function useEntered(name: string | undefined): Entered {
  const refused = useContext(RefusedForm);
  if (refused === undefined || name === undefined) return { values: undefined, fault: undefined };
  return { values: refused.fields.getAll(name), fault: faultOf(refused.message, name) };
}

/** Matches the start of a message about a field of a request: `soak_seconds: must be …`. */
const ABOUT = /^([a-z][a-z0-9_]*)[^:\s]*(?:: (.+)| (is missing.*))$/s;

/** Returns the part of a message that is about a field. The request may name its unit, too: `soak_seconds`. */
function faultOf(message: string, name: string): string | undefined {
  const [, about = "", wrong, fault = wrong] = ABOUT.exec(message) ?? [];
  return about === name || about.startsWith(`${name}_`) ? fault : undefined;
}
