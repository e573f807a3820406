// What came along in a message, or was made in it: pictures as such, and each to be saved.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../lib/api.js";
import { saveText, saveUrl } from "../lib/save.js";
import { Problem } from "./parts.jsx";
import "./files.css";

/** What is drawn. Whatever else somebody says that it is, is saved and nothing more. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** One file: `of` is `{name, media_type}`, `path` where it is. */
export function File({ of, path }) {
  const [url, setUrl] = useState(null);
  const [error, setError] = useState(null);
  const box = useRef(null);
  const isPicture = PICTURES.has(of.media_type);
  useEffect(() => {
    if (!isPicture) return undefined;
    let made = null;
    let over = false;
    // Only what is in sight is read.
    const seen = new IntersectionObserver((all) => {
      if (!all.some((it) => it.isIntersecting)) return;
      seen.disconnect();
      api.blob(path, { type: of.media_type }).then(
        (address) => (over ? URL.revokeObjectURL(address) : setUrl((made = address))),
        (fault) => over || setError(fault),
      );
    });
    seen.observe(box.current);
    return () => ((over = true), seen.disconnect(), made && URL.revokeObjectURL(made));
  }, [path]);
  async function save() {
    setError(null);
    try {
      saveUrl(await api.blob(path), of.name);
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <span class="kept-file" ref={box}>
      {url && <img src={url} alt={of.name} />}
      <span class="row">
        <span class="small name">{of.name}</span>
        <button type="button" class="button small" onClick={save} aria-label={`Save ${of.name}`}>
          Save
        </button>
      </span>
      <Problem error={error} />
    </span>
  );
}

/** A text that came along, which stands in its message. */
export function TextFile({ of }) {
  return (
    <span class="kept-file">
      <span class="row">
        <span class="small name">{of.name}</span>
        <button type="button" class="button small" onClick={() => saveText(of.text, of.name, "application/octet-stream")} aria-label={`Save ${of.name}`}>
          Save
        </button>
      </span>
    </span>
  );
}
