// Reads the frames of an event stream out of pieces of text, however they are cut.

/** Takes pieces of text; gives `{event, data}` for each whole frame to `tell`. */
export function reader(tell) {
  let rest = "";
  return (piece) => {
    rest += piece;
    for (;;) {
      const end = rest.indexOf("\n\n");
      if (end < 0) return;
      const frame = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const told = read(frame);
      if (told) tell(told);
    }
  };
}

/** One frame; null where it is a sign of life. */
export function read(frame) {
  let event = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length === 0) return null;
  try {
    return { event, data: JSON.parse(data.join("\n")) };
  } catch {
    return null;
  }
}
