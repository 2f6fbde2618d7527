import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import type { JsonObject } from '../parts/is-object.ts'
import type { FileSource, ImageSource, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'

/**
 * A part of what the model is given: user and developer messages, tool results.
 *
 * @param path of the item, as warnings name it
 * @throws Fault `invalid_request` for what only the caller's own upstream could read
 */
export function encodeInputPart(part: TurnPart, path: string): JsonObject {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'input_text', text: part.text }
    case 'image':
      return { type: 'input_image', image_url: urlOf(part.source, path), detail: part.detail ?? 'auto' }
    case 'file':
      return encodeFile(part.source, part.filename, path)
    case 'audio':
      return refuseValue(toFieldPath(path), 'audio is not supported by this model', 'unsupported_value')
  }
}

/** A part of what the model said; it can have said words only. */
export function encodeOutputParts(parts: readonly TurnPart[], path: string, warnings: Warning[]): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case 'text':
        return [{ type: 'output_text', text: part.text, annotations: [] }]
      case 'refusal':
        return [{ type: 'refusal', refusal: part.text }]
      case 'image':
      case 'file':
      case 'audio':
        warnings.push({ code: 'dropped', field: path, detail: `an assistant message cannot hold ${part.type} parts` })
        return []
    }
  })
}

function encodeFile(source: FileSource, name: string | undefined, path: string): JsonObject {
  if (source.type === 'url') return { type: 'input_file', file_url: source.url }
  const url = urlOf(source, path)
  const filename = source.type === 'base64' ? fileName(name, source.mediaType) : name
  return { type: 'input_file', ...(filename !== undefined && { filename }), file_data: url }
}

function urlOf(source: ImageSource | FileSource, path: string): string {
  switch (source.type) {
    case 'base64':
      return `data:${source.mediaType};base64,${source.data}`
    case 'url':
      return source.url
    case 'file_id':
      return refuseValue(
        toFieldPath(path),
        'it refers to an uploaded file, which this model cannot reach; send the content itself',
        'unsupported_value',
      )
  }
}

/** Upstream tells a PDF by the ending of its name. Titles of documents have none. */
function fileName(name: string | undefined, mediaType: string): string | undefined {
  if (mediaType !== 'application/pdf') return name
  if (name === undefined || name === '') return 'document.pdf'
  return name.slice(-4).toLowerCase() === '.pdf' ? name : `${name}.pdf`
}
