import { expect, test } from 'vitest'
import { parseDataUrl } from '../../../../src/translate/engine/media/data-url.ts'

test.each([
  ['data:image/png;base64,iVBORw0=', { mediaType: 'image/png', data: 'iVBORw0=' }],
  ['DATA:Image/PNG;BASE64,AA,BB', { mediaType: 'image/png', data: 'AA,BB' }],
  ['data:text/plain;charset=utf-8;base64,aGk=', { mediaType: 'text/plain', data: 'aGk=' }],
  ['data:;base64,aGk=', { mediaType: 'text/plain', data: 'aGk=' }],
  ['data:image/png;base64,', { mediaType: 'image/png', data: '' }],
  // Not base64: the URL itself is what there is.
  ['data:image/svg+xml,<svg/>', undefined],
  ['data:base64,AA', undefined],
  ['data:image/png;base64', undefined],
  ['https://e.x/a;base64,b', undefined],
  ['', undefined],
])('%s', (url, expected) => {
  expect(parseDataUrl(url)).toEqual(expected)
})

test('does not look for a comma in the data', () => {
  expect(parseDataUrl(`data:${'x'.repeat(1000)};base64,AA`)).toBeUndefined()
})
