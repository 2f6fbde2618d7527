import { CHAT, isAny, isClaude, isGemini, isGpt, MESSAGES, RESPONSES, withCode } from './row.ts'
import type { RefusalRow } from './row.ts'
import { sizeOf, typeOfBytes } from './image-bytes.ts'
import { blocksIn, entriesIn, imagesIn } from './sent-parts.ts'
import { objectsOf } from '../../../../src/json/json.ts'

// Images and documents.

const ALL = [CHAT, RESPONSES, MESSAGES]
/** Pixels of a side, if the request has several images. */
const MOST_PIXELS = 2000
/** Pixels of a side of a single image. */
const MOST_PIXELS_ALONE = 8000

const TYPES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])

export const fileRows: readonly RefusalRow[] = [
  {
    id: 'P10 image detail',
    routes: [RESPONSES],
    models: isAny,
    // GitHub's CLI sends `auto`.
    scope: 'some hosts',
    source: 'caozhiyuan/copilot-api#362',
    judge: (sent) => {
      const wrong = imagesIn(sent).find(({ detail }) => detail !== undefined && detail !== 'low' && detail !== 'high')
      return wrong && "image detail must be either 'low' or 'high'"
    },
    reply: withCode('bad_request'),
  },
  {
    id: 'P11 file on chat',
    routes: [CHAT],
    models: isAny,
    scope: 'everywhere',
    source: 'diegosouzapw/OmniRoute#409, anomalyco/opencode#41521',
    judge: (sent) =>
      entriesIn(sent)
        .flatMap(blocksIn)
        .some(({ type }) => type !== 'text' && type !== 'image_url')
        ? "type has to be either 'image_url' or 'text'"
        : undefined,
  },
  {
    id: 'P13 image by address',
    routes: ALL,
    models: isAny,
    scope: 'everywhere',
    source: 'ericc-ch/copilot-api#155, caozhiyuan/copilot-api#258, microsoft/vscode-copilot-chat#3960',
    judge: (sent) =>
      imagesIn(sent).some(({ url }) => /^https?:/i.test(url)) ? 'external image URLs are not supported' : undefined,
  },
  {
    id: 'P14 cache mark in a result',
    routes: [MESSAGES],
    models: isClaude,
    scope: 'some hosts',
    source: 'caozhiyuan/copilot-api#241',
    judge: (sent) => {
      for (const [index, message] of entriesIn(sent).entries()) {
        for (const [at, block] of blocksIn(message).entries()) {
          if (block['type'] !== 'tool_result') continue
          const inner = objectsOf(block['content']).findIndex(({ cache_control: mark }) => (mark ?? null) !== null)
          if (inner >= 0) {
            return `messages.${index}.content.${at}.tool_result.content.${inner}.cache_control: cache_control may not be set within tool_result.content. Set it on the tool_result block instead.`
          }
        }
      }
      return undefined
    },
  },
  {
    id: 'P16 type against bytes',
    routes: [CHAT, MESSAGES],
    models: isClaude,
    scope: 'everywhere',
    source: 'anthropics/claude-code#11975, anthropics/claude-code#12009',
    judge: (sent) => {
      for (const { path, mediaType, data } of imagesIn(sent)) {
        const actual = typeOfBytes(data)
        if (actual !== undefined && actual !== mediaType) {
          return `${path}: The image was specified using the ${mediaType} media type, but the image appears to be a ${actual} image`
        }
      }
      return undefined
    },
  },
  {
    id: 'P19 pixels',
    routes: ALL,
    models: isAny,
    scope: 'everywhere',
    source: 'microsoft/vscode#297841, microsoft/vscode#306383, github/copilot-cli#4930',
    judge: (sent) => {
      const images = imagesIn(sent)
      const most = images.length > 1 ? MOST_PIXELS : MOST_PIXELS_ALONE
      const large = images.find(({ data }) => Math.max(...sizeOf(data)) > most)
      return (
        large &&
        `${large.path}: At least one of the image dimensions exceed max allowed size${images.length > 1 ? ' for many-image requests' : ''}: ${most} pixels`
      )
    },
  },
  {
    id: 'P19 no image, Claude',
    routes: [CHAT, MESSAGES],
    models: (model) => isClaude(model) || isGemini(model),
    scope: 'if asked',
    source: 'anthropics/claude-code#1747, anthropics/claude-code#56016',
    judge: (sent) =>
      imagesIn(sent).some(({ data }) => data !== '' && typeOfBytes(data) === undefined)
        ? 'Could not process image'
        : undefined,
  },
  {
    id: 'P19 no image, GPT',
    routes: [CHAT, RESPONSES],
    models: isGpt,
    scope: 'if asked',
    source: 'github/copilot-cli#2030, github/copilot-cli#2848',
    judge: (sent) =>
      imagesIn(sent).some(({ data }) => data !== '' && typeOfBytes(data) === undefined)
        ? 'The image data you provided does not represent a valid image. Please check your input and try again.'
        : undefined,
  },
  {
    id: 'P19 kind of image',
    routes: ALL,
    models: isAny,
    scope: 'everywhere',
    source: 'microsoft/vscode#308576',
    judge: (sent) =>
      imagesIn(sent).some(({ mediaType }) => mediaType !== '' && !TYPES.has(mediaType))
        ? 'image media type not supported'
        : undefined,
  },
  {
    id: 'P19 no vision',
    routes: ALL,
    models: isAny,
    scope: 'if asked',
    source: 'anthropics/claude-code#59133',
    judge: (sent) => (imagesIn(sent).length > 0 ? 'vision is not enabled for this organization' : undefined),
  },
]
