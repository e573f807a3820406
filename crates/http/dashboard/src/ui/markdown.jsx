// Text of a model, a person or a file as elements. Links lead out only over http, https and mailto.
import { useMemo } from "preact/hooks";
import { blocks } from "../lib/markdown.js";
import { Copy } from "./parts.jsx";

function Inline({ of }) {
  return of.map((it, at) => {
    if (typeof it === "string") return it;
    const inner = it.children && <Inline of={it.children} />;
    switch (it.kind) {
      case "code":
        return <code key={at}>{it.text}</code>;
      case "link":
        return (
          <a key={at} href={it.to} target="_blank" rel="noopener noreferrer nofollow">
            {inner}
          </a>
        );
      case "strong":
        return <strong key={at}>{inner}</strong>;
      case "em":
        return <em key={at}>{inner}</em>;
      default:
        return <del key={at}>{inner}</del>;
    }
  });
}

function Block({ of }) {
  switch (of.kind) {
    case "pre":
      return (
        <div class="code">
          <Copy text={of.text} />
          <pre tabIndex={0} aria-label={of.language || "code"}>
            {of.text}
          </pre>
        </div>
      );
    case "rule":
      return <hr />;
    case "heading": {
      // Below the headings of the page.
      const Heading = `h${Math.min(of.level + 2, 6)}`;
      return (
        <Heading>
          <Inline of={of.children} />
        </Heading>
      );
    }
    case "quote":
      return (
        <blockquote>
          <Blocks of={of.children} />
        </blockquote>
      );
    case "list": {
      const Kind = of.ordered ? "ol" : "ul";
      return (
        <Kind start={of.first ?? undefined}>
          {of.items.map((item, at) => (
            <li key={at}>
              <Blocks of={item} />
            </li>
          ))}
        </Kind>
      );
    }
    case "table":
      return (
        <div class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>
                {of.head.map((cell, at) => (
                  <th key={at} scope="col">
                    <Inline of={cell} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {of.rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column}>
                      <Inline of={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    default:
      return (
        <p>
          <Inline of={of.children} />
        </p>
      );
  }
}

function Blocks({ of }) {
  return of.map((it, at) => <Block key={at} of={it} />);
}

export function Markdown({ text }) {
  const tree = useMemo(() => blocks(text), [text]);
  return (
    <div class="markdown">
      <Blocks of={tree} />
    </div>
  );
}
