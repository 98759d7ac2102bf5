/* unused.c: 20,000 bytes that nothing refers to, as a generator of known answers would be. */

extern const unsigned char unused_table[20000];
const unsigned char unused_table[20000] = {1};
