import type { ComponentProps, ReactNode } from "react";
import { Layout } from "./layout.tsx";
import { Pager, Table } from "./parts.tsx";

type Rows = Omit<ComponentProps<typeof Table>, "label">;

interface List extends Rows {
  title: string;
  /** Name of the table; the title unless given. */
  label?: string;
  /** Words about the list, and a form for a new row. */
  above?: ReactNode;
  /** The path of the list, and what else its address says. */
  to: string;
  query?: Record<string, string | undefined>;
  /** Cursors of this screen of it and of the next one; without them, it has one. */
  cursor?: string;
  next?: string | null;
  children?: ReactNode;
}

/** The page of a list, one screen of it at a time. */
export const ListPage = ({
  title,
  label = title,
  above,
  to,
  query = {},
  cursor = "",
  next = null,
  children,
  ...rows
}: List) => (
  <Layout title={title}>
    <h1>{title}</h1>
    {above}
    <Table label={label} {...rows} />
    <Pager to={to} query={query} at={cursor} next={next} />
    {children}
  </Layout>
);
