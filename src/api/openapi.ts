import { z } from 'zod'
import { ownRoutes, schemas } from './routes.ts'

type Route = (typeof ownRoutes)[number]

/**
 * The description of the daemon's own routes. Answers may get further fields in later versions. Source: OpenAPI Specification
 * 3.1.1 (2024-10).
 */
export function describeRoutes(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of ownRoutes) (paths[route.path] ??= {})[route.method] = describeRoute(route)
  return {
    openapi: '3.1.1',
    info: {
      title: 'copilot-proxy',
      version,
      description:
        'The routes of copilot-proxy itself. The routes of OpenAI Chat Completions, OpenAI Responses and Anthropic Messages are as those APIs describe them.',
    },
    servers: [{ url: '/' }],
    // While no key is configured, programs of the same user need none.
    security: [{ key: [] }, {}],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, toJsonSchema(schema)])),
    },
  }
}

/** `input`: a body may have more fields than its schema, unless that is strict. */
function toJsonSchema(schema: z.ZodType): object {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, { io: 'input' })
  return described
}

function describeRoute({
  method,
  path,
  summary,
  isPublic,
  query = {},
  input,
  status = 200,
  answer,
  type,
  socket,
}: Route): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema: toJsonSchema(schema) }))
  const schema = answer === undefined ? { type: 'string' } : referTo(answer)
  return {
    operationId: `${method} ${path}`,
    summary,
    ...(isPublic && { security: [] }),
    parameters: [...inPath, ...inQuery],
    ...(input !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: referTo(input) } } },
    }),
    // OpenAPI has no words for the messages of a WebSocket.
    ...(socket !== undefined && {
      'x-websocket': { client: referTo(socket.client), server: referTo(socket.server) },
    }),
    responses: {
      ...(socket !== undefined
        ? { 101: { description: 'The WebSocket is open' } }
        : {
            [status]: {
              description: 'Success',
              ...(status !== 204 && { content: { [type ?? 'application/json']: { schema } } }),
            },
          }),
      default: { description: 'Refusal', content: { 'application/json': { schema: referTo('Error') } } },
    },
  }
}

function referTo(name: keyof typeof schemas): object {
  return { $ref: `#/components/schemas/${name}` }
}
