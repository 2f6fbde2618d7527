const text = '("(?:[^"\\\\]|\\\\.)*")'

/** The value of JSON with comments and last commas, read in another way than the program reads it. */
export function readJsonc(jsonc: string): unknown {
  const plain = jsonc
    .replace(/^\uFEFF/, '')
    .replaceAll(new RegExp(`${text}|//[^\\n\\r]*`, 'g'), '$1')
    .replaceAll(new RegExp(`${text}|,(?=\\s*[}\\]])`, 'g'), '$1')
  return JSON.parse(plain)
}
