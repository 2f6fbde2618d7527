/** A type of an SDK with other types for some members. */
export type Swap<Type, With> = Omit<Type, keyof With> & With
