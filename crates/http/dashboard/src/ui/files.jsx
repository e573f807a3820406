// What came along in a message, or was made in it: pictures as such, sound to be heard, and each to
// be saved.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../lib/api.js";
import { PICTURES } from "../lib/attach.js";
import { size } from "../lib/parts.js";
import { saveText, saveUrl } from "../lib/save.js";
import { Problem } from "./parts.jsx";
import "./files.css";

/** What is played. Whatever else somebody says that it is, is saved and nothing more. */
const SOUNDS = new Set(["audio/ogg", "audio/mpeg", "audio/mp4", "audio/aac", "audio/wav"]);

/** One file: `of` is `{name, media_type, bytes}`, `path` where it is. */
export function File({ of, path }) {
  const [url, setUrl] = useState(null);
  const [error, setError] = useState(null);
  const box = useRef(null);
  const made = useRef(null);
  const isPicture = PICTURES.has(of.media_type);
  const isSound = SOUNDS.has(of.media_type);
  async function show() {
    setError(null);
    try {
      const address = await api.blob(path, { type: of.media_type });
      if (box.current === null) URL.revokeObjectURL(address);
      else setUrl((made.current = address));
    } catch (fault) {
      setError(fault);
    }
  }
  useEffect(() => {
    // Only what is in sight is read.
    const seen = new IntersectionObserver((all) => {
      if (!all.some((it) => it.isIntersecting)) return;
      seen.disconnect();
      void show();
    });
    if (isPicture) seen.observe(box.current);
    return () => {
      seen.disconnect();
      if (made.current) URL.revokeObjectURL(made.current);
      made.current = null;
    };
  }, [path]);
  async function save() {
    setError(null);
    try {
      saveUrl(await api.blob(path), of.name);
    } catch (fault) {
      setError(fault);
    }
  }
  const about = [kind(of), of.bytes ? size(of.bytes) : null].filter(Boolean).join(" · ");
  return (
    <span class="kept-file" ref={box}>
      {url && isPicture && <img src={url} alt={of.name} />}
      {url && isSound && <audio src={url} controls aria-label={of.name} />}
      <span class="row">
        <span class="small name">
          {of.name}
          {!isPicture && about && <span class="quiet about">{about}</span>}
        </span>
        <span class="row">
          {isSound && !url && (
            <button type="button" class="button small" onClick={show} aria-label={`Hear ${of.name}`}>
              Hear it
            </button>
          )}
          <button type="button" class="button small" onClick={save} aria-label={`Save ${of.name}`}>
            Save
          </button>
        </span>
      </span>
      <Problem error={error} />
    </span>
  );
}

/** What people call a file of that kind. */
function kind({ media_type: type }) {
  const [kind, form = ""] = type.split(";", 1)[0].split("/");
  return ["application", "audio", "image", "text", "video"].includes(kind) && form.length <= 12 && form !== "octet-stream" ? form.toUpperCase() : "";
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
