// Files that are dropped, pasted or chosen, as the daemon takes them.

/** What all files of a message may be together, in bytes: as text they grow by a third. */
export const BYTES_MAX = 5 * 1024 * 1024;

const asDataUrl = (file) =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });

/** The parts of a message that these files are. */
export async function parts(files) {
  return Promise.all(
    files.map(async (file) => {
      const data = await asDataUrl(file);
      return file.type.startsWith("image/") ? { type: "image_url", image_url: { url: data } } : { type: "file", file: { filename: file.name, file_data: data } };
    }),
  );
}
