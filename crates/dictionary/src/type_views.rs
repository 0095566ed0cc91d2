//! The views of types, over tables that read the sources of the types.

pub(crate) const TYPES: &str = "select {owner}o.name type_name, cast(null as raw(16)) type_oid, k.typecode typecode, \
    k.attributes attributes, k.methods methods, 'NO' predefined, 'NO' incomplete, k.final final, k.instantiable \
    instantiable, 'YES' persistable, k.supertype_owner supertype_owner, k.supertype_name supertype_name, \
    k.local_attributes local_attributes, k.local_methods local_methods, cast(null as raw(16)) typeid \
    from obj$ o, user$ u, x$kott k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj#{filter}";

pub(crate) const ATTRIBUTES: &str = "select {owner}o.name type_name, k.name attr_name, cast(null as varchar2(7)) \
    attr_type_mod, k.type_owner attr_type_owner, k.type_name attr_type_name, k.length length, k.precision precision, \
    k.scale scale, decode(k.char_used, null, null, decode(k.type_name, 'NVARCHAR2', 'NCHAR_CS', 'NCHAR', 'NCHAR_CS', \
    'CHAR_CS')) character_set_name, k.attr_no attr_no, k.inherited inherited, k.char_used char_used \
    from obj$ o, user$ u, x$kota k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj#{filter}";

pub(crate) const METHODS: &str = "select {owner}o.name type_name, k.name method_name, k.method_no method_no, \
    k.method_type method_type, k.parameters parameters, k.results results, k.final final, k.instantiable \
    instantiable, k.overriding overriding, k.inherited inherited \
    from obj$ o, user$ u, x$kotm k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj#{filter}";

pub(crate) const PARAMETERS: &str = "select {owner}o.name type_name, k.method method_name, k.method_no method_no, \
    k.name param_name, k.param_no param_no, k.param_mode param_mode, cast(null as varchar2(7)) param_type_mod, \
    k.type_owner param_type_owner, k.type_name param_type_name, cast(null as varchar2(44)) character_set_name \
    from obj$ o, user$ u, x$kotp k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj# \
    and k.param_no > 0{filter}";

pub(crate) const RESULTS: &str = "select {owner}o.name type_name, k.method method_name, k.method_no method_no, \
    cast(null as varchar2(7)) result_type_mod, k.type_owner result_type_owner, k.type_name result_type_name, \
    cast(null as varchar2(44)) character_set_name \
    from obj$ o, user$ u, x$kotp k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj# \
    and k.param_no = 0{filter}";

pub(crate) const COLLECTIONS: &str = "select {owner}o.name type_name, k.coll_type coll_type, k.upper_bound \
    upper_bound, cast(null as varchar2(7)) elem_type_mod, k.type_owner elem_type_owner, k.type_name elem_type_name, \
    k.length length, k.precision precision, k.scale scale, decode(k.char_used, null, null, decode(k.type_name, \
    'NVARCHAR2', 'NCHAR_CS', 'NCHAR', 'NCHAR_CS', 'CHAR_CS')) character_set_name, cast(null as varchar2(7)) \
    elem_storage, k.nulls_stored nulls_stored, k.char_used char_used \
    from obj$ o, user$ u, x$kotc k where o.type# = 13 and u.user# = o.owner# and k.obj# = o.obj#{filter}";
