// Saving something as a file, from where the page keeps it.

/** Saves what is at an address of the page's own. */
export function saveUrl(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Saves a text. */
export function saveText(text, name, type = "application/x-ndjson") {
  saveUrl(URL.createObjectURL(new Blob([text], { type })), name);
}
