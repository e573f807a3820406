// Files that are dropped, pasted or chosen, as the daemon takes them.

/** What all files of a message may be together, in bytes: as text they grow by a third. */
export const FILES_BYTES_MAX = 10 * 1024 * 1024;
/** What all pictures of a message may be, in bytes: they stand in the message itself. */
export const PICTURES_BYTES_MAX = 600 * 1024;
/** Kinds that models look at; whatever else is sent as a file. */
export const PICTURES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
/** How a picture that is too large is tried: its longer side in pixels, and how true it stays. */
const SMALLER = [
  [2048, 0.85],
  [1600, 0.8],
  [1280, 0.75],
  [1024, 0.7],
  [768, 0.6],
  [512, 0.5],
  [320, 0.5],
];

export const isPicture = (file) => PICTURES.has(file.type);

/** Why these files can't go along with one message, or null. Pictures are made smaller. */
export function tooMuch(files) {
  const sum = files.filter((it) => !isPicture(it)).reduce((all, it) => all + it.size, 0);
  return sum > FILES_BYTES_MAX ? "These files are more than 10 MB together." : null;
}

const asDataUrl = (file) =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });

/** The picture in at most so many bytes; null where the browser can't look at it. */
async function smaller(file, bytes) {
  const picture = await createImageBitmap(file).catch(() => null);
  if (picture === null) return null;
  for (const [side, quality] of SMALLER) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    const pen = canvas.getContext("2d");
    // What is seen through becomes white, as on paper.
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const made = await new Promise((done) => canvas.toBlob(done, "image/jpeg", quality));
    if (made !== null && made.size <= bytes) return made;
  }
  return null;
}

const asFile = async (file) => ({ type: "file", file: { filename: file.name, file_data: await asDataUrl(file) } });

/** The parts of a message that these files are. */
export async function parts(files) {
  const pictures = files.filter(isPicture);
  const all = pictures.reduce((sum, it) => sum + it.size, 0);
  const each = PICTURES_BYTES_MAX / Math.max(1, pictures.length);
  return Promise.all(
    files.map(async (file) => {
      if (!isPicture(file)) return asFile(file);
      const picture = all <= PICTURES_BYTES_MAX || file.size <= each ? file : await smaller(file, each);
      return picture === null ? asFile(file) : { type: "image_url", image_url: { url: await asDataUrl(picture) } };
    }),
  );
}
