/** A tree-sitter grammar of the package, and the query that finds the symbols of its language. */
export interface Language {
  /** Name of the language for people. */
  readonly name: string
  /** The file is `tree-sitter-<grammar>.wasm`. */
  readonly grammar: string
  /**
   * `@name` captures the node of the name, and the capture named after a kind captures the node of the symbol. `@scope` instead
   * of a kind captures a node that contains symbols but is not a symbol. `@names` captures a pattern with several names. `@container`
   * captures the name of a container outside of the symbol's node. `@again` marks a symbol that only counts if no other has its name,
   * because a module may declare a name and export it in another place. If several patterns match a name, the first pattern counts.
   */
  readonly query: string
}

/** The kinds of LSP's `SymbolKind` that the queries use, and `type` for an alias of a type, which LSP lacks. */
export const symbolKinds = [
  'class',
  'constant',
  'constructor',
  'enum',
  'enumMember',
  'event',
  'field',
  'function',
  'interface',
  'method',
  'module',
  'namespace',
  'property',
  'struct',
  'type',
  'variable',
] as const

export type SymbolKind = (typeof symbolKinds)[number]

const scriptFunctions = `
  (function_declaration name: (_) @name) @function
  (generator_function_declaration name: (_) @name) @function
  (method_definition name: (_) @name (#eq? @name "constructor")) @constructor
  (method_definition name: (_) @name) @method
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
  (variable_declarator name: (identifier) @name value: (class)) @class
`

/** Captures variables in a place of a module or namespace. Variables of functions are not symbols. */
function variablesIn(open: string, close: string): string {
  const names = ['name: (identifier) @name', 'name: [(object_pattern) (array_pattern)] @names']
  return names
    .map(
      (name) => `
  ${open}(lexical_declaration kind: "const" (variable_declarator ${name}) @constant)${close}
  ${open}(lexical_declaration (variable_declarator ${name}) @variable)${close}
  ${open}(variable_declaration (variable_declarator ${name}) @variable)${close}
`,
    )
    .join('')
}

const scriptVariables = variablesIn('(program ', ')') + variablesIn('(export_statement ', ')')

/** The values that are functions or classes, and all others. */
const scriptValues = [
  ['[(arrow_function) (function_expression) (generator_function)]', 'function'],
  ['(class)', 'class'],
  ['(_)', 'variable'],
] as const

/** `exports` or `module.exports`. */
const exportsObject = '[(identifier) (member_expression)] @_exports'
const isExports = String.raw`(#match? @_exports "^(module\.)?exports$")`

/** Captures the names that a module exports apart from their declarations. */
const scriptExports = `
  ${scriptValues.map(([value, kind]) => `(export_statement "default" @name value: ${value}) @${kind}`).join('\n')}
  (export_statement (export_clause (export_specifier alias: (identifier) @name) @variable))
  (export_statement (export_clause (export_specifier alias: (string (string_fragment) @name)) @variable))
  (export_statement (export_clause (export_specifier name: (_) @name !alias) @variable) @again)
  (export_statement (namespace_export (_) @name)) @namespace
  ${scriptValues
    .map(
      ([value, kind]) => `
  (assignment_expression left: (member_expression object: ${exportsObject} property: (_) @name) right: ${value} ${isExports}) @${kind} @again
  (assignment_expression left: (member_expression) @name right: ${value} (#eq? @name "module.exports")) @${kind} @again
  (assignment_expression left: ${exportsObject} right: (object (pair key: [(property_identifier) @name (string (string_fragment) @name)] value: ${value}) @${kind}) ${isExports}) @again`,
    )
    .join('\n')}
  (assignment_expression left: ${exportsObject} right: (object (shorthand_property_identifier) @name @variable) ${isExports}) @again
  (call_expression
    function: (member_expression) @_define (#eq? @_define "Object.defineProperty")
    arguments: (arguments . ${exportsObject} . (string (string_fragment) @name (#not-eq? @name "__esModule"))) ${isExports}) @variable @again
`

const javascript: Language = {
  name: 'JavaScript',
  grammar: 'javascript',
  query: `
  (class_declaration name: (_) @name) @class
  ${scriptFunctions}
  (field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
  (field_definition property: (_) @name) @property
  ${scriptVariables}
  ${scriptExports}
`,
}

const typescript: Language = {
  name: 'TypeScript',
  grammar: 'typescript',
  query: `
  (class_declaration name: (_) @name) @class
  (abstract_class_declaration name: (_) @name) @class
  (interface_declaration name: (_) @name) @interface
  (type_alias_declaration name: (_) @name) @type
  (enum_declaration name: (_) @name) @enum
  (enum_body name: (_) @name @enumMember)
  (enum_assignment name: (_) @name) @enumMember
  (internal_module name: (_) @name) @namespace
  (module name: (_) @name) @module
  (function_signature name: (_) @name) @function
  ${scriptFunctions}
  (class_body (method_signature name: (_) @name) @method)
  (interface_body (method_signature name: (_) @name) @method)
  (interface_body (property_signature name: (_) @name) @property)
  (abstract_method_signature name: (_) @name) @method
  (public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
  (public_field_definition name: (_) @name) @property
  ${scriptVariables}
  ${variablesIn('(program (ambient_declaration ', '))')}
  ${variablesIn('(export_statement (ambient_declaration ', '))')}
  ${variablesIn('(ambient_declaration (_ body: (statement_block ', ')))')}
  ${variablesIn('(ambient_declaration (statement_block ', '))')}
  (export_statement (import_alias . (identifier) @name)) @namespace
  (export_statement "as" "namespace" (identifier) @name) @namespace
  ${scriptExports}
`,
}

const python: Language = {
  name: 'Python',
  grammar: 'python',
  query: `
  (class_definition name: (_) @name) @class
  (class_definition body: (block (function_definition name: (_) @name) @method))
  (class_definition body: (block (decorated_definition definition: (function_definition name: (_) @name)) @method))
  (function_definition name: (_) @name) @function
  (module (expression_statement (assignment left: (identifier) @name) @constant (#match? @name "^[A-Z][A-Z0-9_]*$")))
  (module (expression_statement (assignment left: (identifier) @name) @variable))
  (class_definition body: (block (expression_statement (assignment left: (identifier) @name) @property)))
`,
}

const go: Language = {
  name: 'Go',
  grammar: 'go',
  query: `
  (function_declaration name: (_) @name) @function
  (method_declaration receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (generic_type type: (_) @container)
    (pointer_type (type_identifier) @container)
    (pointer_type (generic_type type: (_) @container))
  ])) name: (_) @name) @method
  (type_spec name: (_) @name type: (struct_type)) @struct
  (type_spec name: (_) @name type: (interface_type)) @interface
  (type_spec name: (_) @name) @type
  (type_alias name: (_) @name) @type
  (type_spec type: (struct_type (field_declaration_list (field_declaration name: (_) @name) @field)))
  (method_elem name: (_) @name) @method
  (source_file (const_declaration (const_spec name: (identifier) @name) @constant))
  (source_file (var_declaration (var_spec name: (identifier) @name) @variable))
  (source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))
`,
}

const rust: Language = {
  name: 'Rust',
  grammar: 'rust',
  query: `
  (mod_item name: (_) @name) @module
  (struct_item name: (_) @name) @struct
  (union_item name: (_) @name) @struct
  (enum_item name: (_) @name) @enum
  (enum_variant name: (_) @name) @enumMember
  (trait_item name: (_) @name) @interface
  (impl_item type: (generic_type type: (_) @name)) @scope
  (impl_item type: (_) @name) @scope
  (type_item name: (_) @name) @type
  (macro_definition name: (_) @name) @function
  (impl_item body: (declaration_list (function_item name: (_) @name) @method))
  (trait_item body: (declaration_list [(function_item name: (_) @name) (function_signature_item name: (_) @name)] @method))
  (function_item name: (_) @name) @function
  (function_signature_item name: (_) @name) @function
  (const_item name: (_) @name) @constant
  (static_item name: (_) @name) @variable
  (struct_item body: (field_declaration_list (field_declaration name: (_) @name) @field))
`,
}

const java: Language = {
  name: 'Java',
  grammar: 'java',
  query: `
  (class_declaration name: (_) @name) @class
  (record_declaration name: (_) @name) @class
  (interface_declaration name: (_) @name) @interface
  (annotation_type_declaration name: (_) @name) @interface
  (enum_declaration name: (_) @name) @enum
  (enum_constant name: (_) @name) @enumMember
  (constructor_declaration name: (_) @name) @constructor
  (compact_constructor_declaration name: (_) @name) @constructor
  (method_declaration name: (_) @name) @method
  (constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
  (field_declaration declarator: (variable_declarator name: (_) @name)) @field
`,
}

/** Captures a declarator directly in its declaration, or inside `*` and `&` of the result's type. */
function declarators(declaration: string, field: string, declarator: string): string {
  return `
  (${declaration} ${field}${declarator})
  (${declaration} ${field}(pointer_declarator declarator: ${declarator}))
  (${declaration} ${field}(pointer_declarator declarator: (pointer_declarator declarator: ${declarator})))
  (${declaration} ${field}(reference_declarator ${declarator}))
`
}

function cFunctions(declaration: string, name: string, kind: SymbolKind): string {
  return declarators(declaration, 'declarator: ', `(function_declarator declarator: ${name})`).replaceAll(
    /\)\n/g,
    `) @${kind}\n`,
  )
}

/** The grammar of C++ parses C as well; the package has none for C. */
const cpp: Language = {
  name: 'C++',
  grammar: 'cpp',
  query: `
  (namespace_definition name: (_) @name) @namespace
  (class_specifier name: (_) @name body: (_)) @class
  (struct_specifier name: (_) @name body: (_)) @struct
  (union_specifier name: (_) @name body: (_)) @struct
  (enum_specifier name: (_) @name body: (_)) @enum
  (enumerator name: (_) @name) @enumMember
  (type_definition type: (struct_specifier !name) declarator: (type_identifier) @name) @struct
  (type_definition type: (union_specifier !name) declarator: (type_identifier) @name) @struct
  (type_definition type: (enum_specifier !name) declarator: (type_identifier) @name) @enum
  (type_definition type: [(type_identifier) (primitive_type) (sized_type_specifier)] declarator: (type_identifier) @name) @type
  (alias_declaration name: (_) @name) @type
  (field_declaration_list (declaration declarator: (function_declarator declarator: (identifier) @name)) @constructor)
  (field_declaration_list (function_definition declarator: (function_declarator declarator: (identifier) @name)) @constructor)
  ${cFunctions('function_definition', '(qualified_identifier scope: (_) @container name: (_) @name)', 'method')}
  ${cFunctions('function_definition', '[(field_identifier) (destructor_name) (operator_name)] @name', 'method')}
  ${cFunctions('function_definition', '(identifier) @name', 'function')}
  ${cFunctions('declaration', '(identifier) @name', 'function')}
  ${cFunctions('field_declaration', '[(field_identifier) (operator_name)] @name', 'method')}
  ${declarators('field_declaration', 'declarator: ', '(field_identifier) @name').replaceAll(/\)\n/g, ') @field\n')}
  (preproc_def name: (_) @name) @constant
  (preproc_function_def name: (_) @name) @function
  (translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
  (translation_unit (declaration declarator: (identifier) @name) @variable)
`,
}

const csharp: Language = {
  name: 'C#',
  grammar: 'c-sharp',
  query: `
  (namespace_declaration name: (_) @name) @namespace
  (file_scoped_namespace_declaration name: (_) @name) @namespace
  (class_declaration name: (_) @name) @class
  (record_declaration name: (_) @name) @class
  (struct_declaration name: (_) @name) @struct
  (interface_declaration name: (_) @name) @interface
  (enum_declaration name: (_) @name) @enum
  (enum_member_declaration name: (_) @name) @enumMember
  (delegate_declaration name: (_) @name) @function
  (constructor_declaration name: (_) @name) @constructor
  (method_declaration name: (_) @name) @method
  (local_function_statement name: (_) @name) @function
  (property_declaration name: (_) @name) @property
  (event_declaration name: (_) @name) @event
  (event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @event
  (field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
`,
}

const ruby: Language = {
  name: 'Ruby',
  grammar: 'ruby',
  query: `
  (module name: (_) @name) @module
  (class name: (_) @name) @class
  (class body: (body_statement (method name: (_) @name) @method))
  (module body: (body_statement (method name: (_) @name) @method))
  (singleton_method name: (_) @name) @method
  (method name: (_) @name) @function
  (assignment left: (constant) @name) @constant
`,
}

const php: Language = {
  name: 'PHP',
  grammar: 'php',
  query: `
  (namespace_definition name: (_) @name) @namespace
  (class_declaration name: (_) @name) @class
  (trait_declaration name: (_) @name) @class
  (interface_declaration name: (_) @name) @interface
  (enum_declaration name: (_) @name) @enum
  (enum_case name: (_) @name) @enumMember
  (function_definition name: (_) @name) @function
  (method_declaration name: (_) @name (#eq? @name "__construct")) @constructor
  (method_declaration name: (_) @name) @method
  (property_declaration (property_element name: (_) @name)) @property
  (const_declaration (const_element (name) @name)) @constant
`,
}

const bash: Language = {
  name: 'Bash',
  grammar: 'bash',
  query: `
  (function_definition name: (_) @name) @function
  (program (variable_assignment name: (variable_name) @name) @variable)
  (program (declaration_command (variable_assignment name: (variable_name) @name) @variable))
`,
}

const languages: ReadonlyMap<string, Language> = new Map(
  (
    [
      [typescript, 'ts mts cts'],
      [{ ...typescript, grammar: 'tsx' }, 'tsx'],
      [javascript, 'js mjs cjs jsx'],
      [python, 'py pyi'],
      [go, 'go'],
      [rust, 'rs'],
      [java, 'java'],
      [{ ...cpp, name: 'C' }, 'c h'],
      [cpp, 'cc cpp cxx c++ hh hpp hxx'],
      [csharp, 'cs'],
      [ruby, 'rb rake'],
      [php, 'php'],
      [bash, 'sh bash'],
    ] as const
  ).flatMap(([language, endings]) => endings.split(' ').map((ending) => [ending, language] as const)),
)

/** Returns the language of a file by its extension. */
export function languageOf(path: string): Language | undefined {
  return languages.get(endingOf(path))
}

/** Returns the extension in lower case without the dot, or ''. */
export function endingOf(path: string): string {
  return /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
}

/** Lists the languages for the message about an unsupported one. */
export function languageNames(): string {
  return [...new Set([...languages.values()].map(({ name }) => name))].join(', ')
}
