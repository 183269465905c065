/**
 * Rule for eslint: comments fit the page, and docstrings begin with what they are or do (CONTRIBUTING.md, "How we
 * write").
 */

const MAX_COLUMNS = 120;
/** Matches docstrings that describe their subject by a clause; a noun or a verb is plainer. */
const CLAUSE = /^(What|Who|Whoever|Whatever|How|Where)\b/;

export default {
  meta: {
    type: "suggestion",
    schema: [],
    messages: {
      wide: "This line of the comment has {{columns}} columns; at most {{max}} fit.",
      clause: 'Begin the docstring with a verb or a noun, not with "{{word}}".',
    },
  },
  create({ sourceCode, report }) {
    return {
      Program() {
        for (const comment of sourceCode.getAllComments()) {
          for (let line = comment.loc.start.line; line <= comment.loc.end.line; line++) {
            const columns = [...sourceCode.lines[line - 1]].length;
            if (columns <= MAX_COLUMNS) continue;
            report({
              loc: { line, column: MAX_COLUMNS },
              messageId: "wide",
              data: { columns: String(columns), max: String(MAX_COLUMNS) },
            });
          }
          const [word] = (comment.type === "Block" && CLAUSE.exec(comment.value.replace(/^\*\s*(\*\s*)?/, ""))) || [];
          if (word !== undefined) report({ loc: comment.loc, messageId: "clause", data: { word } });
        }
      },
    };
  },
};
